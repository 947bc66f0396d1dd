"""A new task is one object: here, lifting and holding, written as a user would."""

from dataclasses import replace

from tests.conftest import Simulate
from twinloop.twin.assemble import assemble
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.relations import lifted
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.skills import grasp, lift
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


def hold(thing: str):
    (phase,) = lift(thing, by_m=0.0)
    return (replace(phase, name="hold", shortest_s=0.5),)


LIFT = replace(
    PICK_AND_PLACE,
    name="lift",
    language=Language(("lift the {object}",)),
    program=(*grasp("object"), *lift("object", by_m=0.15), *hold("object")),
    success=(lifted("object", 0.08),),
)


def test_it_runs_like_the_built_in_ones(simulate: Simulate):
    episodes = simulate(8, of=assemble(FRANKA_PANDA, LIFT, OBJECTS["block"]))
    assert episodes.success.all()
    assert episodes["phase"].max() == 4

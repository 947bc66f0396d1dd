"""A new task is one object: here, lifting and holding, written as a user would."""

from dataclasses import replace

from tests.conftest import Simulate
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.task import Phase
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

LIFT = replace(
    PICK_AND_PLACE,
    name="lift",
    instruction="lift the {object}",
    phases=(
        *PICK_AND_PLACE.phases[:3],
        Phase("lift", anchor="here", height_m=0.15, gripper="closed", tolerance_m=0.02, carrying=True),
        Phase("hold", anchor="here", height_m=0.0, gripper="closed", shortest_s=0.5, carrying=True),
    ),
    success=lambda scene: scene.object_position[:, 2] > scene.table_height_m + 0.1,
)


def test_it_runs_like_the_built_in_ones(simulate: Simulate):
    episodes = simulate(8, of=assemble(FRANKA_PANDA, LIFT, OBJECTS["block"]))
    assert episodes.success.all()
    assert episodes["phase"].max() == 4

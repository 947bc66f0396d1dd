"""Mistakes in a task are refused with the task, the place in it, and the nearest valid name."""

from dataclasses import replace
from typing import Any

import pytest

from twinloop.errors import ModelError, UsageError
from twinloop.twin.assemble import assemble
from twinloop.twin.entity import Thing, zone
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.relations import at, inside
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.skills import carry, grasp, lift
from twinloop.twin.task import Role
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

CUBE = Thing("object", OBJECTS["cube"])


@pytest.mark.parametrize(
    ("change", "where", "problem"),
    [
        ({"entities": (zone("goal"), CUBE)}, "entities", "first is to be a Thing"),
        ({"entities": (CUBE, CUBE, zone("goal"))}, "entities", "twice"),
        ({"program": ()}, "program", "is empty"),
        ({"success": ()}, "success", "is empty"),
        ({"program": (*grasp("objct"), *lift("objct"))}, "phase 1", "did you mean object"),
        ({"program": (*grasp("object"), *carry("object", to="gaol"))}, "phase 4", "did you mean goal"),
        ({"success": (at("object", "gaol", within_m=0.1),)}, "relation object_at_gaol", "did you mean goal"),
        ({"language": Language(("move the {objekt}",))}, "template 1", "did you mean object"),
        ({"language": Language(("move the {object",))}, "template 1", "does not belong to a pair"),
        ({"language": Language(())}, "language", "no templates"),
        ({"program": (replace(lift("object")[0], words="lift the {objct}"),)}, "phase 1", "did you mean object"),
        ({"roles": (Role("object", ("object",)),)}, "role 'object'", "name of an entity"),
        ({"roles": (Role("asked", ("object",)), Role("other", ("object", "goal")))}, "role 'other'", "equally many"),
        ({"roles": (Role("asked", ("objct",)),)}, "role 'asked'", "did you mean object"),
        ({"longest_s": float("inf")}, "longest_s", "at most"),
        ({"program": (replace(lift("object")[0], longest_s=float("inf")),)}, "phase 1", "longest_s"),
        ({"program": (replace(lift("object")[0], speed_m_s=0.0),)}, "phase 1", "never arrive"),
        ({"program": (replace(lift("object")[0], retry="grasp"),)}, "phase 1", "'grasp'"),
        ({"goal": "gaol"}, "goal", "did you mean goal"),
    ],
)
def test_a_bad_task_is_refused(change: dict[str, Any], where: str, problem: str):
    with pytest.raises(ModelError) as error:
        replace(PICK_AND_PLACE, **change)
    assert "task 'pick_and_place'" in str(error.value)
    assert where in str(error.value)
    assert problem in str(error.value)


def test_an_unknown_frame_is_refused():
    drawer = tasks()["put_in_drawer"]
    wrong = replace(drawer, success=(inside("object", "drawer.insde", (0.1, 0.1, 0.1)),))
    with pytest.raises(ModelError, match=r"drawer\.insde.*drawer\.inside"):
        assemble(FRANKA_PANDA, wrong)


def test_an_unknown_kind_of_thing_names_the_valid_ones():
    """A task file looks its things up by name."""
    with pytest.raises(
        UsageError, match=r"no kind of thing is named 'cylinder'; .*Valid here: block, bottle, can, cube"
    ):
        OBJECTS["cylinder"]
    assert OBJECTS.get("cylinder") is None

"""Scenes in which entities start inside each other or beside the table are refused by name; a resting thing is not."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.simulate.start_check import refuse_bad_start
from twinloop.twin.assemble import assemble
from twinloop.twin.entity import Thing
from twinloop.twin.objects import OBJECTS
from twinloop.twin.other_things import with_things
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.scene import Start
from twinloop.twin.tasks import tasks


def moved(name: str, thing: str, onto: str):
    """A task whose `thing` starts where `onto` does, 1 cm higher."""
    task = tasks()[name]

    def start(draw, count, entities) -> Start:
        begun = task.start(draw, count, entities)
        pose = np.concatenate([begun.poses[onto][:, :3] + [0, 0, 0.01], begun.poses[thing][:, 3:]], axis=1)
        return replace(begun, poses={**begun.poses, thing: pose})

    return replace(task, start=start)


@pytest.mark.parametrize(
    ("name", "thing", "onto"), [("stack", "red_cube", "blue_cube"), ("open_drawer", "object", "drawer")]
)
def test_things_that_start_inside_each_other_are_named(name: str, thing: str, onto: str):
    twin = assemble(FRANKA_PANDA, moved(name, thing, onto))
    with pytest.raises(ConfigError, match="start inside each other") as refusal:
        refuse_bad_start(twin, (thing,))
    for word in (f"scene.things.{thing}", onto, "mm deep", "smaller", f"the task {name!r}"):
        assert word in str(refusal.value)
    with pytest.raises(ConfigError, match=r"scene\.task"):
        refuse_bad_start(twin)


@pytest.mark.parametrize("name", ["stack", "put_in_drawer", "bin_picking"])
def test_shipped_tasks_start_apart(name: str):
    refuse_bad_start(assemble(FRANKA_PANDA, tasks()[name]))


def test_a_thing_without_a_place_on_the_table_is_named():
    task = with_things(tasks()["pick_and_place"], {"crate": Thing("crate", OBJECTS["cube"].scaled(15.0))})
    twin = assemble(FRANKA_PANDA, task)
    with pytest.raises(ConfigError, match="no free place") as refusal:
        refuse_bad_start(twin, ("crate",))
    for word in ("scene.things.crate", "600 x 600 x 600 mm", "smaller"):
        assert word in str(refusal.value)
    beside = with_things(tasks()["pick_and_place"], {"mug": Thing("mug", OBJECTS["can"])})
    refuse_bad_start(assemble(FRANKA_PANDA, beside), ("mug",))

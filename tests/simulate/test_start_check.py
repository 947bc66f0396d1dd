"""Scenes in which entities start inside each other are refused by name; a resting thing is not."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.simulate.start_check import refuse_overlapping_start
from twinloop.twin.assemble import assemble
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
        refuse_overlapping_start(twin, (thing,))
    for word in (f"scene.things.{thing}", onto, "mm deep", "smaller", f"the task {name!r}"):
        assert word in str(refusal.value)
    with pytest.raises(ConfigError, match=r"scene\.task"):
        refuse_overlapping_start(twin)


@pytest.mark.parametrize("name", ["stack", "put_in_drawer", "bin_picking"])
def test_shipped_tasks_start_apart(name: str):
    refuse_overlapping_start(assemble(FRANKA_PANDA, tasks()[name]))

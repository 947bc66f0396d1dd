"""LabelIds: meaning of mask ids, and which things get boxes.

An instance is a body of the stage, so every link of the robot is an instance. A thing is the whole robot, or any other
body.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.observe.stage import build_stage
from twinloop.twin.entity import Entity, Thing
from twinloop.twin.task import Task
from twinloop.twin.twin import Twin

# New classes are appended, so that an id means the same in every dataset.
CLASSES = ("background", "robot", "object", "table", "target", "clutter", "person", "fixture")
CLUTTER = ("distractor", "item", "occluder")
"""First words of the names of other bodies that are not part of a task."""


@dataclass(frozen=True)
class LabelIds:
    """Ids and names of bodies and things.

    Pixels of no geom have the id -1, which selects the last entry of `instances` and `classes`: the world, background.

    Attributes:
        instances: (geoms + 1,) body of each geom.
        classes: (geoms + 1,) uint8 index into CLASSES.
        names: names of the bodies, by instance.
        boxed: names of the things.
        thing_of: (bodies,) index into `boxed`, -1 for the world.
        class_of: (things,) index into CLASSES.
        tracked: bodies of the movable things, in the order of the scene; `tracked_names` are their names.
    """

    instances: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]
    boxed: tuple[str, ...]
    thing_of: np.ndarray
    class_of: np.ndarray
    tracked: tuple[int, ...]

    @property
    def tracked_names(self) -> tuple[str, ...]:
        return tuple(self.names[body] for body in self.tracked)


def things_of(model: mujoco.MjModel, task: Task) -> LabelIds:
    names = tuple(model.body(number).name or f"body{number}" for number in range(model.nbody))
    kinds = np.array([_class(model, task, number) for number in range(model.nbody)], np.uint8)
    visible = np.isin(np.arange(model.nbody), model.geom_bodyid)
    robot = CLASSES.index("robot")
    pointed_at = ["robot" if kind == robot else name for name, kind in zip(names, kinds, strict=True)]
    boxed = tuple(dict.fromkeys(thing for thing, seen in zip(pointed_at[1:], visible[1:], strict=True) if seen))
    thing_of = np.array([-1, *(boxed.index(thing) if thing in boxed else -1 for thing in pointed_at[1:])], np.int16)
    # 8 bits unless there are more bodies. Masks of a dataset have 8 bits, and its header refuses more names.
    bodies = np.append(model.geom_bodyid, 0).astype(np.min_scalar_type(model.nbody - 1))
    return LabelIds(
        instances=bodies,
        classes=kinds[bodies],
        names=names,
        boxed=boxed,
        thing_of=thing_of,
        class_of=np.array([kinds[pointed_at.index(thing)] for thing in boxed], np.uint8),
        tracked=tuple(model.body(thing.name).id for thing in task.things),
    )


def things_in(twin: Twin, cameras: Mapping[str, CameraConfig]) -> LabelIds:
    """LabelIds of a twin's stage. Needs no rendering, so a machine without OpenGL can list a dataset's features."""
    return things_of(build_stage(twin, cameras).model, twin.task)


def _class(model: mujoco.MjModel, task: Task, body: int) -> int:
    """Class of a body, or of the body that it is attached to: an entity, or by its first word as in clutter/mug."""
    entities = task.by_name
    for name in (model.body(body).name, model.body(model.body_rootid[body]).name):
        if name in entities:
            return CLASSES.index(_class_of_entity(entities[name]))
        # Only bodies of a user's robot model may have no name.
        word = name.split("/")[0] or "robot"
        word = "clutter" if word in CLUTTER else word
        if body and word in CLASSES:
            return CLASSES.index(word)
    return 0


def _class_of_entity(entity: Entity) -> str:
    if isinstance(entity, Thing):
        return "object"
    if entity.person:
        return "person"
    return "fixture" if entity.solid else "target"

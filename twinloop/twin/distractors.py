"""Distractors: objects of the same shape and another colour that stand on the table and must not be picked."""

import mujoco
import numpy as np

from twinloop.twin.objects import GEOM_TYPES, SceneObject
from twinloop.twin.table import PARKED_M

USUAL_XY_M = {"a": (0.33, -0.22), "b": (0.6, -0.33), "c": (0.3, 0.19), "d": (0.66, 0.28)}
COLOURS = ((0.85, 0.2, 0.2), (0.2, 0.65, 0.3), (0.2, 0.35, 0.85), (0.9, 0.8, 0.2), (0.55, 0.25, 0.7))
FROM_WORK_M = 0.11  # from the ends of the task's things; the open hand fits between
FROM_OTHERS_M = 0.09
BETWEEN_M = 0.06  # from the ends of a large one to the centres of others
TALLEST_M = 0.07  # a taller one lies on its side, so that the hand passes over it
LYING = (0.5**0.5, 0.5**0.5, 0.0, 0.0)


def furnish(spec: mujoco.MjSpec, thing: SceneObject) -> None:
    for name, rgb in zip(USUAL_XY_M, colours_for(thing), strict=True):
        body = spec.worldbody.add_body(name=f"distractor/{name}", mocap=True, pos=[0, 0, PARKED_M])
        body.add_geom(
            name=f"distractor/{name}", type=GEOM_TYPES[thing.shape], size=thing.geom_size, rgba=[*rgb, 1],
            quat=LYING if lies(thing) else (1.0, 0.0, 0.0, 0.0), contype=0, conaffinity=3,
        )  # fmt: skip


def colours_for(thing: SceneObject) -> list[tuple[float, float, float]]:
    """The colours that differ most from the object's, one per distractor."""
    own = np.array(thing.rgba[:3])
    return sorted(COLOURS, key=lambda rgb: -float(np.square(rgb - own).sum()))[: len(USUAL_XY_M)]


def lies(thing: SceneObject) -> bool:
    """Whether a distractor of this shape lies on its side."""
    return 2 * thing.half_extents_m[2] > TALLEST_M

"""Distractors: objects of the same shape and another colour that stand on the table and must not be picked."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from twinloop.twin.objects import GEOM_TYPES, SceneObject
from twinloop.twin.placing import is_clear, pushed_away
from twinloop.twin.scene import Start
from twinloop.twin.table import HIGHEST_XY_M, LOWEST_XY_M, PARKED_M, surface_m

USUAL_XY_M = {"a": (0.33, -0.22), "b": (0.6, -0.33), "c": (0.3, 0.19), "d": (0.66, 0.28)}
COLOURS = ((0.85, 0.2, 0.2), (0.2, 0.65, 0.3), (0.2, 0.35, 0.85), (0.9, 0.8, 0.2), (0.55, 0.25, 0.7))
FROM_WORK_M = 0.13  # from the task's entities, centre to centre; the open hand fits between
FROM_OTHERS_M = 0.09


def furnish(spec: mujoco.MjSpec, thing: SceneObject) -> None:
    for name, rgb in zip(USUAL_XY_M, colours_for(thing), strict=True):
        body = spec.worldbody.add_body(name=f"distractor/{name}", mocap=True, pos=[0, 0, PARKED_M])
        body.add_geom(
            name=f"distractor/{name}", type=GEOM_TYPES[thing.shape], size=thing.geom_size, rgba=[*rgb, 1],
            contype=0, conaffinity=3,
        )  # fmt: skip


def colours_for(thing: SceneObject) -> list[tuple[float, float, float]]:
    """The colours that differ most from the object's, one per distractor."""
    own = np.array(thing.rgba[:3])
    return sorted(COLOURS, key=lambda rgb: -float(np.square(rgb - own).sum()))[: len(USUAL_XY_M)]


def poses(draw: Mapping[str, np.ndarray], begin: Start, thing: SceneObject, others: Sequence[np.ndarray]) -> np.ndarray:
    """(n, distractors, 3) position of each, clear of the task's entities and of the (n, 3) `others`.

    A distractor that is not drawn, or that has no free place, is below the floor.
    """
    out = np.empty((len(draw["distractor_count"]), len(USUAL_XY_M), 3))
    taken = list(others)
    work = begin.occupied_m
    for number, (name, usual) in enumerate(USUAL_XY_M.items()):
        off = np.column_stack([draw[f"distractor_place_cm.{name}_{axis}"] for axis in "xy"]) / 100
        place = np.array(usual) + off
        for point in work:
            place = pushed_away(place, point, FROM_WORK_M)
        place = np.clip(place, LOWEST_XY_M, HIGHEST_XY_M)
        stands = number < np.round(draw["distractor_count"])
        for point in work:
            stands &= is_clear(place, point, FROM_WORK_M)
        for other in taken:
            stands &= is_clear(place, other[:, :2], FROM_OTHERS_M) | (other[:, 2] < -0.4)
        out[:, number, :2] = place
        out[:, number, 2] = np.where(stands, surface_m(draw, place) + thing.half_extents_m[2], PARKED_M)
        taken.append(out[:, number])
    return out

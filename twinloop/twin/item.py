"""The unexpected item: an obstacle that is present in some episodes and may be in the arm's path.

It does not move when it is hit. Part of it is inside the table, so that its visible height is the drawn one.
"""

from collections.abc import Mapping

import mujoco
import numpy as np

from twinloop.twin.placing import is_clear, pushed_away
from twinloop.twin.scene import Start
from twinloop.twin.table import HIGHEST_XY_M, LOWEST_XY_M, PARKED_M, surface_m

NAME = "item"
RADIUS_M, HALF_HEIGHT_M = 0.03, 0.125
USUAL_XY_M = np.array([0.49, 0.02])  # between where objects start and where they go
FROM_WORK_M = 0.085  # from the task's entities, centre to centre; they do not overlap


def furnish(spec: mujoco.MjSpec) -> None:
    body = spec.worldbody.add_body(name=NAME, mocap=True, pos=[0, 0, PARKED_M])
    body.add_geom(
        name=NAME, type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[RADIUS_M, HALF_HEIGHT_M, 0],
        rgba=[0.35, 0.5, 0.28, 1], contype=0, conaffinity=3,
    )  # fmt: skip


def poses(draw: Mapping[str, np.ndarray], begin: Start) -> np.ndarray:
    """(n, 3) position of the item; below the floor in an episode without it."""
    place = USUAL_XY_M + np.column_stack([draw[f"unexpected_item_place_cm.{axis}"] for axis in "xy"]) / 100
    work = begin.occupied_m
    for point in work:
        place = pushed_away(place, point, FROM_WORK_M)
    place = np.clip(place, LOWEST_XY_M, HIGHEST_XY_M)
    stands = draw["unexpected_item_probability"] > 0.5
    for point in work:
        stands &= is_clear(place, point, FROM_WORK_M)
    top = surface_m(draw, place) + draw["unexpected_item_height_cm"] / 100
    return np.column_stack([place, np.where(stands, top - HALF_HEIGHT_M, PARKED_M)])

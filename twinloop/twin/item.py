"""The unexpected item: an obstacle that is present in some episodes and may be in the arm's path.

It does not move when it is hit. Part of it is inside the table, so that its visible height is the drawn one.
"""

import mujoco
import numpy as np

from twinloop.twin.table import PARKED_M

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

"""The bystander: a person who reaches into the workspace during an episode and withdraws again, in any task.

A hand and a forearm follow a path that the draw determines (`randomize/bystander.py`). They do not yield; the robot's
contact force on them is measured. Reaches are minimum-jerk movements, s(x) = 10 x³ - 15 x⁴ + 6 x⁵ (Flash and Hogan, J.
Neurosci. 5, 1985), whose peak speed is 15/8 of their mean speed.
"""

import mujoco
import numpy as np

from twinloop.twin.table import PARKED_M

NAME = "person"
CENTRE_XY_M = np.array([0.49, 0.02])  # of the workspace
EDGE_M = 0.25  # from the centre to the edge
AWAY_M = 0.4  # from the edge to where the hand waits
ARM_M = 0.46  # from the fingertips to the elbow
PEAK = 15 / 8
SKIN = (0.85, 0.66, 0.55, 1.0)


def furnish(spec: mujoco.MjSpec) -> None:
    """Add the arm. The body's origin is at the fingertips, and the arm extends along its x axis."""
    hand = spec.worldbody.add_body(name=NAME, mocap=True, pos=[0, 0, PARKED_M])
    touches = {"contype": 0, "conaffinity": 3, "rgba": SKIN}
    hand.add_geom(
        name="person/hand", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.09, 0.042, 0.014], pos=[0.09, 0, 0], **touches
    )
    hand.add_geom(
        name="person/forearm", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.038, 0, 0],
        fromto=[0.2, 0, 0.005, ARM_M, 0, 0.03], **touches,
    )  # fmt: skip


def smooth(share: np.ndarray) -> np.ndarray:
    """Position of a minimum-jerk movement from 0 to 1 after a share of its duration."""
    x = np.clip(share, 0, 1)
    return x * x * x * (10 + x * (6 * x - 15))


def distance_m(poses_in_world: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n,) distance of (n, 3) points from the line between fingertips and elbow; infinite without a bystander."""
    tip = poses_in_world[:, :3]
    # Cosine and sine of the yaw from the quaternion; the arm extends along the body's x axis, level with the table.
    cos, sin = 1 - 2 * poses_in_world[:, 6] ** 2, 2 * poses_in_world[:, 3] * poses_in_world[:, 6]
    offset = points - tip
    along = np.clip(offset[:, 0] * cos + offset[:, 1] * sin, 0, ARM_M)
    beside = offset - np.column_stack([along * cos, along * sin, np.zeros_like(along)])
    return np.where(tip[:, 2] > PARKED_M / 2, np.sqrt(np.square(beside).sum(axis=1)), np.inf)

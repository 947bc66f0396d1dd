"""Grippers with one jaw that does not move: things are gripped beside that jaw."""

import numpy as np

from twinloop.twin.robot import Robot

JAW_CLEAR_M = 0.007
"""Gap between a thing and the jaw that does not move, before the other jaw closes.

The jaw must not come down on the thing."""
ROLLS_CLEAR_M = 0.004
"""The same for a thing that rolls away from the other jaw."""


def fixed_jaw_m(robot: Robot) -> float:
    """Where the jaw that does not move is along the closing direction, in the tool's frame; 0 if both jaws move."""
    return robot.closed_tips_m[1]


def beside_jaw(
    robot: Robot, grip_m: np.ndarray, axes: np.ndarray, half_m: np.ndarray | float, *, rolls: bool = False
) -> np.ndarray:
    """(n, 3) grips, moved so that what is gripped is next to the jaw that does not move, if the gripper has one.

    Otherwise the moving jaw would push it there: a thing would slide, and a handle would pull the hand.

    Args:
        grip_m, axes: (n, 3) and (n, 3, 3) pose of the tool in the frame of what is gripped.
        half_m: half of the width of what is gripped.
        rolls: whether it may roll.
    """
    jaw_m = fixed_jaw_m(robot)
    if not jaw_m:
        return grip_m
    aside_m = jaw_m - np.sign(jaw_m) * (np.asarray(half_m) + (ROLLS_CLEAR_M if rolls else JAW_CLEAR_M))
    return grip_m - aside_m.reshape(-1, 1) * axes[:, :, 1]

"""Gains and limits with which a gripper holds things and does not crush them."""

from dataclasses import replace

import mujoco
import numpy as np

from twinloop.twin.robot_files.inspection.grip import Grip
from twinloop.twin.robot_files.mapping import GripperMapping

MIN_GRIP_N, MOST_GRIP_N, FIRM_GRIP_N = 20.0, 150.0, 50.0
"""A gripper that presses with more than `MOST_GRIP_N` has a placeholder as its limit; it gets a firm grip instead."""
MOST_SCALE = 100.0


def with_firm_grip(gripper: GripperMapping, grip: Grip, grasping: mujoco.MjData) -> tuple[GripperMapping, str]:
    """The gripper with other gains or limits, if it presses with less than 20 N or crushes things, and a note."""
    force_n = grip.force_n(grasping)
    if force_n > MOST_GRIP_N:
        shared = 1 if gripper.actuator else len(gripper.joints)
        limited = replace(gripper, force=float(f"{grip.limit_for(FIRM_GRIP_N) / shared:.3g}"))
        return limited, f"the gripper presses with {force_n:.0f} N; it is limited to {FIRM_GRIP_N:g} N"
    scale = gain_scale(force_n)
    if scale == 1:
        return gripper, ""
    what = "gains are" if gripper.actuator else "force is"
    note = f"the gripper presses with {force_n:.1f} N only; its {what} multiplied by {scale:g}"
    if not gripper.actuator:
        return replace(gripper, force=round(scale * grip.force_limit / len(gripper.joints), 3)), note
    gripper = replace(gripper, gain_scale=gain_scale(grip.unlimited_force_n(grasping)))
    if gain_scale(grip.most_force_n) > 1:
        gripper = replace(gripper, force=round(grip.force_limit * gain_scale(grip.most_force_n), 3))
    return gripper, note


def gain_scale(force_n: float) -> float:
    """Factor on the actuator's gains with which it presses with 20 N."""
    return 1.0 if force_n >= MIN_GRIP_N else float(min(np.ceil(MIN_GRIP_N / max(force_n, 1e-3)), MOST_SCALE))

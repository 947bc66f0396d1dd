"""Hints: what to check when most episodes of a config are rejected."""

import math

from twinloop.curate.verdict import TASK_FAILED
from twinloop.twin.robot import Robot
from twinloop.twin.tasks.pick_and_place import OBJECT_XY_M

FAILURE_HINTS = {
    "never_reached": "The tool does not reach the object. Check `home`, `tool_frame` and `mount_m` of the robot",
    "never_grasped": "The fingers do not hold the object. Check `tool_frame` (z out of the hand, fingers along y), "
    "`gripper.fingers`, and that the gripper opens wider than the object",
    "dropped_in_lift": "The object slips out of the fingers. Raise `gripper.gain_scale` of the robot, or check the "
    "friction of its pads",
    "dropped_in_transfer": "The object slips out of the fingers. Raise `gripper.gain_scale` of the robot, or check the "
    "friction of its pads",
    "timeout": "Episodes take too long. Check `velocity_limits_rad_s` of the robot and `curate.longest_s`",
}
VERDICT_HINTS = {
    "unreachable": "The object or its goal is out of the arm's reach. Check `mount_m`, `home` and joint ranges of the "
    "robot, and the randomized positions",
    "velocity_limit": "Joints are faster than their limits. Check `velocity_limits_rad_s` of the robot, or raise "
    "`curate.velocity_share`",
    "torque_limit": "Joints need more torque than their limits. Check the actuators' forcerange, or raise "
    "`curate.torque_share`",
    "joint_limit": "Joints leave their range. Check `home` and the ranges of the model",
    "deep_penetration": "Bodies overlap. Check the collision geoms of the hand, or raise `curate.penetration_mm`",
    "hard_contact": "Contacts are too hard. Check the collision geoms of hand and fingers",
    "object_jump": "The object is knocked away. Check `tool_frame` and the collision geoms of the hand",
    "diverged": "The simulation is unstable. Check masses and actuator gains, or set a smaller `rollout.timestep_ms`",
    "left_workspace": "The object leaves the table. Check `tool_frame` and the randomized object positions",
    "too_long": "Episodes take too long. Check `velocity_limits_rad_s` of the robot and `curate.longest_s`",
}


def most_frequent(counts: dict[str, int]) -> dict[str, int]:
    """The same counts, largest first."""
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))


def hint_for(robot: Robot, rejected: dict[str, int], failures: dict[str, int]) -> str:
    """The hint for the most frequent reason of rejection; "" if there is none."""
    verdict = next(iter(rejected), "")
    failure = next(iter(failures), "")
    hint = FAILURE_HINTS.get(failure, "") if verdict == TASK_FAILED else VERDICT_HINTS.get(verdict, "")
    distance_m = math.dist(robot.mount_m[:2], OBJECT_XY_M)
    if verdict == TASK_FAILED and distance_m > robot.reach_m:
        place = f"The object is {distance_m:.2f} m from the base, but {robot.name} reaches {robot.reach_m:.2f} m"
        return f"{place}. Set `mount_m` of the robot nearer to it"
    if verdict == TASK_FAILED and robot.mapping is None and hint:
        return f"All attempts fail in the same way ({failure}). Inspect one: twinloop episode CONFIG --attempt 0"
    return hint

"""The figures of a robot that decide what it can do."""

from dataclasses import dataclass

import mujoco

from twinloop.twin import robot_measures
from twinloop.twin.robot import Robot


@dataclass(frozen=True)
class RobotSummary:
    """A robot for display.

    Attributes:
        axes: number of joints of all arms.
        arms: names of the arms of a set; () for one arm.
        opening_m: largest distance between the finger pads; of a set, that of the arm which opens least.
    """

    name: str
    axes: int
    reach_m: float
    payload_kg: float | None
    opening_m: float
    gripper_unit: str
    source: str
    arms: tuple[str, ...] = ()


def summary_of(robot: Robot) -> RobotSummary:
    return RobotSummary(
        name=robot.name,
        axes=len(robot.arm_joints),
        reach_m=robot.reach_m,
        payload_kg=robot.payload_kg,
        opening_m=min(opening_m(arm.robot or robot) for arm in robot.arms),
        gripper_unit=robot.gripper.unit,
        source=robot.source,
        arms=tuple(arm.name for arm in robot.several),
    )


def opening_m(robot: Robot) -> float:
    """Distance between the finger pads when the gripper is open, measured on the model."""
    model = robot.build().compile()
    joints = [model.joint(name).id for name in robot.gripper.joints]
    arm = [model.joint(name).id for name in robot.arm_joints]
    fingers = (model.body(robot.gripper.finger_bodies[0]).id, model.body(robot.gripper.finger_bodies[1]).id)
    data = robot_measures.settled(
        model, model.actuator(robot.gripper.actuator).id, robot.gripper.open_control, joints=joints, arm_joints=arm,
        home_rad=robot.home_rad,
    )  # fmt: skip
    pads = robot_measures.pads(model, fingers, data.site_xpos[model.site(robot.tool_site).id], data)
    return float(mujoco.mj_geomDistance(model, data, pads[0], pads[1], robot_measures.FARTHEST_M, None))

"""A set of arms as one robot: each arm is a robot with one arm, and all of them share the table.

The spec of a set has the specs of its arms, with the name of the arm and a dot before all names: `left.joint1`. So
joints, limits, states and actions of a set follow from those of its arms.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.robot import Gripper, Robot, RobotArm
from twinloop.twin.robot_drive import RobotDrive

APART_SHARE = 0.4
"""Default distance of an arm from the middle of the table, as a share of its reach."""
MEETS_ARMS = 8
"""Bit of contacts between arms. Links of one arm do not collide with each other."""
MAX_ARMS = 2


@dataclass(frozen=True)
class Base:
    """Where an arm of a set stands.

    Attributes:
        position_m: None for the default: beside the other arm, as far from the things as it stands alone.
        yaw_deg: its direction about the vertical; at 0 it faces the table.
    """

    position_m: tuple[float, float, float] | None = None
    yaw_deg: float = 0.0


def robot_set(name: str, arms: Mapping[str, Robot], bases: Mapping[str, Base] | None = None) -> Robot:
    """A robot of two arms. The first stands on the left side of the table unless `bases` says otherwise.

    Raises:
        ModelError: there are not two arms, or one of them is a set itself.
    """
    if len(arms) != MAX_ARMS:
        raise ModelError(f"{name}: has {len(arms)} arms ({', '.join(arms)}); two are possible")
    for arm, robot in arms.items():
        if robot.several:
            raise ModelError(f"{name}: {arm}: {robot.name} has {len(robot.arms)} arms itself; choose a robot with one")
    placed = {arm: (bases or {}).get(arm, Base()) for arm in arms}
    members, first = [], 0
    for side, (arm, robot) in zip((1, -1), arms.items(), strict=True):
        position_m = placed[arm].position_m or _beside(robot, side)
        placed[arm] = replace(placed[arm], position_m=position_m)
        members.append(
            RobotArm(
                name=arm, first=first, axes=len(robot.arm_joints), gripper=_named(arm, robot.gripper),
                tool_site=f"{arm}.{robot.tool_site}", base_m=position_m, robot=robot, yaw_deg=placed[arm].yaw_deg,
            )
        )  # fmt: skip
        first += len(robot.arm_joints)
    robots = tuple(arms.values())
    limits = [robot.acceleration_limits_rad_s2 for robot in robots]
    payloads = [robot.payload_kg for robot in robots if robot.payload_kg is not None]
    return Robot(
        name=name,
        build=partial(_build, tuple(members)),
        arm_joints=tuple(f"{arm}.{joint}" for arm, robot in arms.items() for joint in robot.arm_joints),
        arm_actuators=tuple(f"{arm}.{actuator}" for arm, robot in arms.items() for actuator in robot.arm_actuators),
        gripper=members[0].gripper,
        tool_site=members[0].tool_site,
        home_rad=_all(robot.home_rad for robot in robots),
        velocity_limits_rad_s=_all(robot.velocity_limits_rad_s for robot in robots),
        torque_limits_nm=_all(robot.torque_limits_nm for robot in robots),
        acceleration_limits_rad_s2=_all(limits) if all(limits) else (),
        reach_m=min(robot.reach_m for robot in robots),
        payload_kg=min(payloads) if len(payloads) == len(robots) else None,
        source="; ".join(dict.fromkeys(robot.source for robot in robots)),
        model_digest=_digest(members),
        drive=_drive_of(name, arms),
        several=tuple(members),
    )


def _all(parts) -> tuple[float, ...]:
    return tuple(number for part in parts for number in part)


def _beside(robot: Robot, side: int) -> tuple[float, float, float]:
    """The default place: as far from the things as the robot stands alone, and to one side of the middle."""
    x, _, z = robot.mount_m
    return x, side * round(APART_SHARE * robot.reach_m, 3), z


def _named(arm: str, gripper: Gripper) -> Gripper:
    left, right = gripper.finger_bodies
    return replace(
        gripper,
        joints=tuple(f"{arm}.{joint}" for joint in gripper.joints),
        actuator=f"{arm}.{gripper.actuator}",
        finger_bodies=(f"{arm}.{left}", f"{arm}.{right}"),
    )


def _drive_of(name: str, arms: Mapping[str, Robot]) -> RobotDrive | None:
    """The drives of all arms as one; None if none has a drive."""
    drives = {arm: robot.drive for arm, robot in arms.items() if robot.drive is not None}
    kinds = {drive.kind for drive in drives.values()}
    if len(kinds) > 1:
        raise ModelError(
            f"{name}: its arms have drives of different kinds ({', '.join(sorted(kinds))}); one is possible"
        )
    joints = {f"{arm}.{joint}": values for arm, drive in drives.items() for joint, values in drive.joints.items()}
    return RobotDrive(next(iter(drives.values())).kind, joints) if drives else None


def _build(members: tuple[RobotArm, ...]) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    for number, arm in enumerate(members):
        assert arm.robot is not None
        own = arm.robot.build()
        for geom in own.geoms:
            # One side of a contact has the bit in its type, the other in its affinity.
            if geom.contype and number == 0:
                geom.contype |= MEETS_ARMS
            elif geom.contype:
                geom.conaffinity |= MEETS_ARMS
        half = np.deg2rad(arm.yaw_deg) / 2
        base = spec.worldbody.add_frame(pos=arm.base_m, quat=[np.cos(half), 0, 0, np.sin(half)])
        spec.attach(own, frame=base, prefix=f"{arm.name}.")
    return spec


def _digest(members: list[RobotArm]) -> str:
    """Digest of the files of a set in which an arm comes from a file; "" if all are built in code."""
    files = [arm.robot.model_digest if arm.robot is not None else "" for arm in members]
    if not any(files):
        return ""
    places = [(arm.name, arm.base_m, arm.yaw_deg) for arm in members]
    return hashlib.sha256(repr((files, places)).encode()).hexdigest()


def overlap_of(robot: Robot) -> str:
    """Two bodies of different arms that are inside each other at the start, in words; "" if there are none."""
    model = robot.build().compile()
    data = mujoco.MjData(model)
    joints = [model.joint(name).id for name in robot.arm_joints]
    data.qpos[model.jnt_qposadr[joints]] = robot.home_rad
    mujoco.mj_kinematics(model, data)
    owner = np.array([model.body(int(body)).name.partition(".")[0] for body in model.geom_bodyid])
    left, right = (np.flatnonzero(owner == arm.name) for arm in robot.arms)
    for first in left:
        apart = np.linalg.norm(data.geom_xpos[right] - data.geom_xpos[first], axis=1)
        near = right[apart < model.geom_rbound[right] + model.geom_rbound[first]]
        for second in near:
            if mujoco.mj_geomDistance(model, data, int(first), int(second), 0.0, None) < 0:
                bodies = [model.body(int(model.geom_bodyid[geom])).name for geom in (first, second)]
                return " and ".join(bodies)
    return ""

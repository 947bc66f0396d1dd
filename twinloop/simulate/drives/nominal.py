"""The complete drive of a twin: what is declared, and for the rest a servo that acts like the model's own actuators."""

from collections.abc import Iterable, Mapping

import mujoco
import numpy as np

from twinloop.errors import UsageError, nearest
from twinloop.randomize.servo import PREFIX, VOLTAGE
from twinloop.simulate.drives.servo import DRIVES
from twinloop.twin.robot import Robot
from twinloop.twin.robot_drive import DriveKind, RobotDrive

UNLIMITED_NM, UNLIMITED_RAD_S = 1e4, 1e5
SUPPLY_V, RESISTANCE_OHM = 12.0, 4.0
"""A DC motor in place of a position actuator has this supply and winding; the other values follow."""
MIN_ARMATURE_KGM2 = 1e-6


def drivable_joints(robot: Robot) -> tuple[str, ...]:
    """Joints that can have a servo: those of the arms, and of a gripper that is one joint commanded by position."""
    joints = list(robot.arm_joints)
    for gripper in (arm.gripper for arm in robot.arms):
        same = (gripper.open_control, gripper.closed_control) == (gripper.open, gripper.closed)
        joints += gripper.joints if len(gripper.joints) == 1 and same else ()
    return tuple(joints)


def quantities(kind: str) -> tuple[str, ...]:
    """Names of the values that a joint of this kind of drive has."""
    return (*(variable.name for variable in DRIVES[kind].variables), *DRIVES[kind].inputs)


def refuse_unknown(drive: RobotDrive, robot: Robot, *, where: str) -> None:
    """Raise if the drive has a joint that the robot cannot drive, or a quantity that its kind does not have."""
    joints, names = drivable_joints(robot), quantities(drive.kind)
    for joint, values in drive.joints.items():
        if joint not in joints:
            raise UsageError(f"{where}: robot {robot.name} has no drive at joint {joint!r}; {nearest(joint, joints)}")
        for name in values:
            if name not in names:
                raise UsageError(f"{where}.{joint}: {drive.kind} has no quantity {name!r}; {nearest(name, names)}")


def kind_for(rows: Iterable[str]) -> DriveKind:
    """The kind of drive that has these rows of the table, for a robot that declares none."""
    voltage = {PREFIX + variable.name for variable in VOLTAGE}
    return "voltage_servo" if voltage & set(rows) else "position_servo"


def complete_drive(model: mujoco.MjModel, robot: Robot, declared: RobotDrive, *, prefix: str = "") -> RobotDrive:
    """The drive with a value of every quantity of every driven joint. The arm's joints are always driven.

    Args:
        prefix: of the robot's names in the model.
    """
    names = quantities(declared.kind)
    joints = {}
    for joint in drivable_joints(robot):
        if joint in robot.arm_joints or joint in declared.joints:
            actuator = _actuator(robot, joint)
            derived = _like_actuator(model, declared.kind, prefix + joint, prefix + actuator)
            values = derived | dict(declared.joints.get(joint, {}))
            joints[joint] = {name: float(values[name]) for name in names}
    return RobotDrive(declared.kind, joints)


def _actuator(robot: Robot, joint: str) -> str:
    if joint in robot.arm_joints:
        return robot.arm_actuators[robot.arm_joints.index(joint)]
    return next(arm.gripper.actuator for arm in robot.arms if joint in arm.gripper.joints)


def _like_actuator(model: mujoco.MjModel, kind: str, joint: str, actuator: str) -> dict[str, float]:
    """Values of a servo that acts like a position actuator of the engine."""
    number, dof = model.actuator(actuator).id, int(model.joint(joint).dofadr[0])
    stiffness, braking = float(model.actuator_gainprm[number, 0]), -float(model.actuator_biasprm[number, 2])
    low, high = model.actuator_forcerange[number]
    limit = float(max(abs(low), abs(high))) if model.actuator_forcelimited[number] else UNLIMITED_NM
    filtered = model.actuator_dyntype[number] != mujoco.mjtDyn.mjDYN_NONE
    values: Mapping[str, float] = {variable.name: variable.value for variable in DRIVES[kind].variables}
    values = dict(values) | {
        "coulomb_nm": float(model.dof_frictionloss[dof]),
        "viscous_nms_rad": float(model.dof_damping[dof]),
        "armature_kgm2": max(float(model.dof_armature[dof]), MIN_ARMATURE_KGM2),
        "lag_ms": 1000 * float(model.actuator_dynprm[number, 0]) if filtered else 0.0,
    }
    if kind == "voltage_servo":
        torque_per_volt = limit / SUPPLY_V
        return values | {
            "resistance_ohm": RESISTANCE_OHM,
            "torque_constant_nm_a": torque_per_volt * RESISTANCE_OHM,
            "duty_per_rad": stiffness / limit,
            "supply_v": SUPPLY_V,
        }
    return values | {
        "stiffness_nm_rad": stiffness,
        "braking_nms_rad": max(braking, 0.0),
        "torque_limit_nm": limit,
        "no_load_speed_rad_s": UNLIMITED_RAD_S,  # the engine's actuator has full torque at any speed
    }


def joint_values(drive: RobotDrive, name: str) -> np.ndarray:
    """(joints,) values of a quantity."""
    return np.array([values[name] for values in drive.joints.values()])

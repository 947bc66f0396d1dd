"""Position servos for joints of a user's model: kept, rescaled, or put in place of another drive.

Twinloop commands joint angles. A drive whose control is an angle is kept. A drive with another scale or offset
gets the same stiffness with an angle as its control. A torque or velocity drive is replaced by a position servo, and a
joint without a drive gets one; the robot is then gravity-compensated.
"""

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

FULL_TORQUE_AT_RAD = 0.05
LAG_S = 0.06
ROTOR_KGM2_PER_NM = 7e-4  # 0.1 kg m² for a joint of 150 N·m
Drive = Literal["position", "rescaled", "torque", "velocity", "other", "none"]


@dataclass(frozen=True)
class ServoGains:
    """Stiffness, damping and torque limit at the joint."""

    stiffness_nm_rad: float
    damping_nms_rad: float
    torque_nm: float


def drive_of(spec: mujoco.MjSpec, joint: str) -> tuple[Drive, mujoco.MjsActuator | None]:
    """How a joint is driven, and by which actuator."""
    actuators = [
        actuator
        for actuator in spec.actuators
        if actuator.target == joint
        and actuator.trntype in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    ]
    if not actuators:
        return "none", None
    actuator = actuators[0]
    fixed = actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
    plain = actuator.dyntype in (mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtDyn.mjDYN_FILTER, mujoco.mjtDyn.mjDYN_FILTEREXACT)
    if not fixed or not plain:
        return "other", actuator
    gain, bias, gear = float(actuator.gainprm[0]), np.array(actuator.biasprm[:3]), float(actuator.gear[0])
    if actuator.biastype == mujoco.mjtBias.mjBIAS_NONE:
        return "torque", actuator
    if actuator.biastype != mujoco.mjtBias.mjBIAS_AFFINE:
        return "other", actuator
    if bias[1] >= 0:
        return ("velocity" if bias[2] < 0 else "other"), actuator
    if gear == 1 and abs(bias[0]) < 1e-9 and abs(gain + bias[1]) < 1e-6 * gain:
        return "position", actuator
    return "rescaled", actuator


def torque_limit_nm(spec: mujoco.MjSpec, joint: str) -> float | None:
    """The torque that the model lets a joint's drive exert; None if it has no limit."""
    kind, actuator = drive_of(spec, joint)
    limits = []
    if actuator is not None:
        gear = abs(float(actuator.gear[0]))
        force = np.array(actuator.forcerange)
        if force[0] < force[1]:
            limits.append(gear * float(np.abs(force).max()))
        control = np.array(actuator.ctrlrange)
        if kind == "torque" and control[0] < control[1]:
            limits.append(gear * abs(float(actuator.gainprm[0])) * float(np.abs(control).max()))
    of_joint = np.array(spec.joint(joint).actfrcrange)
    if of_joint[0] < of_joint[1]:
        limits.append(float(np.abs(of_joint).max()))
    return min(limits) if limits else None


def gains_for(torque_nm: float) -> ServoGains:
    """Gains of a servo that has its full torque at an error of 50 mrad and lags by 60 ms."""
    stiffness = torque_nm / FULL_TORQUE_AT_RAD
    return ServoGains(stiffness, LAG_S * stiffness, torque_nm)


def gains_of(actuator: mujoco.MjsActuator, torque_nm: float | None) -> ServoGains:
    """Gains at the joint of a drive that pulls towards a position."""
    gear = float(actuator.gear[0])
    stiffness, damping = (-float(number) * gear**2 for number in actuator.biasprm[1:3])
    return ServoGains(stiffness, max(damping, 0.0), np.inf if torque_nm is None else torque_nm)


def put_servo(spec: mujoco.MjSpec, joint: str, gains: ServoGains) -> str:
    """Make `joint` position-controlled with these gains, and return the actuator's name."""
    _, old = drive_of(spec, joint)
    name = old.name if old is not None else f"{joint}_servo"
    if old is not None:
        spec.delete(old)
    target = spec.joint(joint)
    servo = spec.add_actuator(name=name, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=gains.stiffness_nm_rad, kv=gains.damping_nms_rad)
    if np.isfinite(gains.torque_nm):
        servo.forcerange = (-gains.torque_nm, gains.torque_nm)
        target.actfrcrange = (0, 0)  # the servo has the limit
    if target.range[0] < target.range[1]:
        servo.ctrlrange = target.range
    if np.isfinite(gains.torque_nm) and not target.armature:
        target.armature = ROTOR_KGM2_PER_NM * gains.torque_nm
    return name


def resolve_damping_ratios(spec: mujoco.MjSpec) -> None:
    """Write the damping of servos that the file gives as a ratio; the engine knows it after compiling."""
    servos = [actuator for actuator in spec.actuators if actuator.biasprm[1] < 0 < actuator.biasprm[2]]
    if not servos:
        return
    model = spec.copy().compile()
    for actuator in servos:
        actuator.biasprm[2] = model.actuator(actuator.name).biasprm[2]


def compensate_gravity(spec: mujoco.MjSpec) -> None:
    for body in spec.bodies:
        if body.name != "world":
            body.gravcomp = 1

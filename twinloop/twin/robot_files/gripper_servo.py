"""A position servo for a gripper that has no actuator, or several."""

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest
from twinloop.twin.robot_files.mapping import GripperMapping
from twinloop.twin.robot_files.model_source import ModelSource

SERVO = "twinloop_gripper"
MOST_FORCE_N, MOST_TORQUE_NM = 60.0, 3.0
FULL_FORCE_AT_M, FULL_TORQUE_AT_RAD = 0.01, 0.1
LAG_S = 0.05
STEP_S, CHATTER_FREE = 0.004, 1.6  # of the physics; damping times step over inertia, at which nothing chatters
FINGER_INERTIA = {True: 0.2, False: 0.002}  # kg of a slide joint, kg m² of a hinge
MOST_INERTIA = {True: 2.0, False: 0.02}
"""Armature above which the servo closes a finger slowly and then strikes with it."""
CLOSES_S, DAMPING_SHARE = 0.4, 0.25
"""Time in which the servo crosses the range of a joint, and the share of its force that damping may take then."""


def add_gripper_servo(
    spec: mujoco.MjSpec, gripper: GripperMapping, source: ModelSource, *, arm_joints: tuple[str, ...]
) -> None:
    """Drive the mean position of the gripper's joints by one position servo, and couple the joints to each other.

    Joints of the hand that such a servo cannot move get less inertia and damping: files for reinforcement learning
    often have the same large numbers for all joints.
    """
    joints = [_joint(spec, name, source) for name in gripper.joints]
    mirrored = [_joint(spec, name, source) for name in gripper.mirrored]
    for actuator in list(spec.actuators):
        if actuator.target in (*gripper.joints, *gripper.mirrored):
            spec.delete(actuator)
    low, high = np.mean([joint.range for joint in joints], axis=0)
    if not low < high:
        raise ModelError(
            f"{source.path}: gripper joint {gripper.joints[0]!r} has no range, which the servo needs; give it one"
        )
    slides = joints[0].type == mujoco.mjtJoint.mjJNT_SLIDE
    force = gripper.force or default_force(spec, gripper.joints, slides=slides)
    stiffness = force / (FULL_FORCE_AT_M if slides else FULL_TORQUE_AT_RAD)
    # With less inertia the saturated servo would change the speed by more than its damping allows in one step.
    inertia = max(FINGER_INERTIA[slides], LAG_S * stiffness * STEP_S / CHATTER_FREE)
    for joint in _hand_joints(spec, arm_joints):
        joint.armature = min(float(joint.armature), MOST_INERTIA[joint.type == mujoco.mjtJoint.mjJNT_SLIDE])
        if joint.type == joints[0].type:
            joint.damping[0] = min(float(joint.damping[0]), DAMPING_SHARE * force * CLOSES_S / float(high - low))
    for joint in (*joints, *mirrored):
        joint.armature = max(float(joint.armature), inertia)
        joint.actfrcrange = (0, 0)  # the servo has the limit
    _couple(spec, gripper.joints[0], gripper.joints[1:], 1)
    _couple(spec, gripper.joints[0], gripper.mirrored, -1)
    mean = spec.add_tendon(name=SERVO)
    for name in gripper.joints:
        mean.wrap_joint(name, 1 / len(joints))
    servo = spec.add_actuator(name=SERVO, target=SERVO, trntype=mujoco.mjtTrn.mjTRN_TENDON)
    servo.set_to_position(kp=len(joints) * stiffness, kv=LAG_S * len(joints) * stiffness)
    # The tendon's force is shared by the joints.
    servo.ctrlrange, servo.forcerange = (low, high), (-len(joints) * force, len(joints) * force)


def _hand_joints(spec: mujoco.MjSpec, arm_joints: tuple[str, ...]) -> list[mujoco.MjsJoint]:
    """Joints beyond the last one of the arm."""
    below = spec.joint(arm_joints[-1]).parent.find_all(mujoco.mjtObj.mjOBJ_JOINT)
    return [joint for joint in below if joint.name not in arm_joints]


def default_force(spec: mujoco.MjSpec, joints: tuple[str, ...], *, slides: bool) -> float:
    """The model's limit at one joint, in N or N·m, at most what a small gripper has."""
    most = MOST_FORCE_N if slides else MOST_TORQUE_NM
    limit = float(np.abs(np.array(spec.joint(joints[0]).actfrcrange)).max())
    return min(limit, most) if limit > 0 else most


def _joint(spec: mujoco.MjSpec, name: str, source: ModelSource) -> mujoco.MjsJoint:
    joint = spec.joint(name)
    if joint is None:
        known = [other.name for other in spec.joints if other.name]
        raise ModelError(f"{source.path}: no joint named {name!r}; {nearest(name, known)}")
    return joint


def _couple(spec: mujoco.MjSpec, leader: str, followers: tuple[str, ...], ratio: float) -> None:
    """Couple joints to the leader, unless the model does."""
    coupled = {(equality.name1, equality.name2) for equality in spec.equalities}
    for joint in followers:
        if not coupled & {(joint, leader), (leader, joint)}:
            coupling = spec.add_equality(
                type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1=joint, name2=leader,
                solref=[0.01, 1], solimp=[0.95, 0.99, 0.001, 0.5, 2],
            )  # fmt: skip
            coupling.data[:5] = [0, ratio, 0, 0, 0]


def set_control_range(spec: mujoco.MjSpec, actuator: mujoco.MjsActuator) -> None:
    """Give a position servo without a control range that of its joint."""
    if actuator.ctrlrange[0] < actuator.ctrlrange[1] or actuator.trntype != mujoco.mjtTrn.mjTRN_JOINT:
        return
    joint = spec.joint(actuator.target)
    servo = actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE and actuator.biasprm[1] < 0
    if joint is not None and servo and joint.range[0] < joint.range[1]:
        actuator.ctrlrange = joint.range


def set_force_limit(spec: mujoco.MjSpec, actuator: mujoco.MjsActuator, force: float | None) -> None:
    """Give an actuator this force limit, also where its joint has a smaller one; None keeps the model's."""
    if force is None:
        return
    actuator.forcerange = (-force, force)
    joint = spec.joint(actuator.target)
    if joint is not None and actuator.trntype == mujoco.mjtTrn.mjTRN_JOINT:
        joint.actfrcrange = (0, 0)  # the actuator has the limit

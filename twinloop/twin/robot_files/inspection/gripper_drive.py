"""GripperDrive: the joints and the actuator that drive a gripper."""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.robot_files.inspection.roles import JointRoles


@dataclass(frozen=True)
class GripperDrive:
    """Joints and actuator of a gripper, as the mapping names them.

    Attributes:
        joints: joints whose positions add up to the opening.
        mirrored: joints that move against the first one and are not coupled to it in the model.
        actuator: "" if the model has none, several, or one that takes a force.
    """

    joints: tuple[str, ...]
    mirrored: tuple[str, ...]
    actuator: str


def drive_of_gripper(model: mujoco.MjModel, roles: JointRoles, fingers: tuple[int, int]) -> GripperDrive:
    driven = {index: _driven_joints(model, index) for index in range(model.nu)}
    actuators = [index for index, joints in driven.items() if any(joint in roles.gripper for joint in joints)]
    ratios = _couplings(model)
    if len(actuators) == 1 and _is_position_servo(model, actuators[0]):
        coefficients = driven[actuators[0]]
        first = next(joint for joint in coefficients if joint in roles.gripper)
        alike = [joint for joint, coefficient in coefficients.items() if coefficient * coefficients[first] > 0]
        alike += [joint for joint in roles.gripper if _ratio(ratios, joint, first) == 1]
        return GripperDrive(_names(model, _of_type(model, alike, first)), (), model.actuator(actuators[0]).name)
    leaders = [joint for joint in roles.gripper if any(leader == joint for _, leader in ratios)]
    # Some files have joints of frames and propellers at the hand, which move no finger.
    moving = [joint for joint in roles.gripper if any(_moves(model, joint, finger) for finger in fingers)]
    first = next(iter([*(joint for joint in leaders if joint in moving), *leaders, *moving, *roles.gripper]))
    free = [joint for joint in roles.gripper if joint != first and _ratio(ratios, joint, first) is None]
    joints = [first, *(joint for joint in roles.gripper if _ratio(ratios, joint, first) == 1)]
    mirrored = []
    if not leaders:
        for joint in _of_type(model, free, first):
            same = np.allclose(model.jnt_range[joint], model.jnt_range[first], atol=1e-3)
            against = np.allclose(-model.jnt_range[joint][::-1], model.jnt_range[first], atol=1e-3)
            joints += [joint] if same and not against else []
            mirrored += [joint] if against else []
    return GripperDrive(_names(model, _of_type(model, joints, first)), _names(model, mirrored), "")


def _moves(model: mujoco.MjModel, joint: int, body: int) -> bool:
    """Whether a joint is on the way from the world to a body."""
    while body:
        if body == model.jnt_bodyid[joint]:
            return True
        body = int(model.body_parentid[body])
    return False


def _is_position_servo(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether the actuator pulls towards a position. One that takes a force does not stop at an opening."""
    affine = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE.value
    return bool(affine and model.actuator_biasprm[actuator, 1] < 0)


def _driven_joints(model: mujoco.MjModel, actuator: int) -> dict[int, float]:
    """Joints that an actuator drives, directly or by a fixed tendon, with their coefficients."""
    target = int(model.actuator_trnid[actuator, 0])
    kind = model.actuator_trntype[actuator]
    if kind in (mujoco.mjtTrn.mjTRN_JOINT.value, mujoco.mjtTrn.mjTRN_JOINTINPARENT.value):
        return {target: 1.0}
    if kind != mujoco.mjtTrn.mjTRN_TENDON.value:
        return {}
    start = int(model.tendon_adr[target])
    wraps = range(start, start + int(model.tendon_num[target]))
    return {
        int(model.wrap_objid[wrap]): float(model.wrap_prm[wrap])
        for wrap in wraps
        if model.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_JOINT.value
    }


def _couplings(model: mujoco.MjModel) -> dict[tuple[int, int], float]:
    """(follower, leader) -> ratio of joints that are coupled linearly."""
    return {
        (int(model.eq_obj1id[index]), int(model.eq_obj2id[index])): float(model.eq_data[index, 1])
        for index in range(model.neq)
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT.value and model.eq_obj2id[index] >= 0
    }


def _ratio(ratios: dict[tuple[int, int], float], joint: int, first: int) -> float | None:
    if (joint, first) in ratios:
        return ratios[joint, first]
    return 1 / ratios[first, joint] if ratios.get((first, joint)) else None


def _of_type(model: mujoco.MjModel, joints: list[int], first: int) -> list[int]:
    return [joint for joint in dict.fromkeys(joints) if model.jnt_type[joint] == model.jnt_type[first]]


def _names(model: mujoco.MjModel, joints: list[int]) -> tuple[str, ...]:
    return tuple(model.joint(joint).name for joint in joints)

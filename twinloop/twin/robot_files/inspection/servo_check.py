"""Checks of the position servos of a model at home: too slow, too much damping for the step, sagging under gravity."""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.robot_files.servos import ROTOR_KGM2_PER_NM
from twinloop.twin.robot_measures import torque_limits_nm

STEP_S = 0.004
MIN_BANDWIDTH_RAD_S = 30.0
DAMPING_RATIO = 0.9
CHATTER_FREE = 0.8
"""Largest damping, as a share of that at which a saturated servo chatters."""


@dataclass(frozen=True)
class ServoCheck:
    """Servos of the arm's joints.

    Attributes:
        stiffness_nm_rad, damping_nms_rad: proposed gains; None where the model's are kept.
        sag_rad: largest error under gravity at home.
        notes: why gains are changed.
    """

    stiffness_nm_rad: tuple[float, ...] | None
    damping_nms_rad: tuple[float, ...] | None
    sag_rad: float
    notes: tuple[str, ...]


def check_servos(model: mujoco.MjModel, joints: list[int], home_rad: np.ndarray) -> ServoCheck:
    """Check the servos with the arm at home.

    - The bandwidth, √(stiffness / inertia), is raised to 30 rad/s; slower joints leave the path of the tool.
    - A saturated servo changes a joint's speed by torque × step / inertia in one step. If that is more than the range
      of speeds in which it is not saturated, 2 × torque / damping, it chatters. Then the damping is reduced.
    """
    data = mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[joints]] = home_rad
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    dofs = model.jnt_dofadr[joints]
    driven = [int(np.flatnonzero(model.actuator_trnid[:, 0] == joint)[0]) for joint in joints]
    inertia, notes = np.diag(full)[dofs], []
    stiffness, damping = model.actuator_gainprm[driven, 0].copy(), -model.actuator_biasprm[driven, 2]
    slow = stiffness < MIN_BANDWIDTH_RAD_S**2 * inertia
    if slow.any():
        stiffness = np.where(slow, MIN_BANDWIDTH_RAD_S**2 * inertia, stiffness)
        damping = np.where(slow, 2 * DAMPING_RATIO * MIN_BANDWIDTH_RAD_S * inertia, damping)
        notes.append("some servos are slow for the inertia that they move; their gains are raised to 30 rad/s")
    torque = torque_limits_nm(model, joints, driven)
    limited = np.isfinite(torque)
    chatters = limited & (damping > 2 * inertia / STEP_S)
    if chatters.any():
        rotor = ROTOR_KGM2_PER_NM * np.where(limited, torque, 0.0)
        inertia = inertia + np.where(model.dof_armature[dofs] == 0, rotor, 0.0)
        # A stiff servo with critical damping trembles at this step, and things creep out of the hand.
        most = np.maximum(2 * np.sqrt(stiffness * inertia), CHATTER_FREE * 2 * inertia / STEP_S)
        damping = np.where(chatters, np.minimum(damping, most), damping)
        notes.append("some servos have more damping than their inertia allows at steps of 4 ms; it is reduced")
    sag = (data.qfrc_bias - data.qfrc_gravcomp)[dofs] / stiffness
    return ServoCheck(
        stiffness_nm_rad=_rounded(stiffness) if slow.any() else None,
        damping_nms_rad=_rounded(damping) if notes else None,
        sag_rad=float(np.abs(sag).max()),
        notes=tuple(notes),
    )


def _rounded(numbers: np.ndarray) -> tuple[float, ...]:
    return tuple(abs(round(float(number), 2)) for number in numbers)

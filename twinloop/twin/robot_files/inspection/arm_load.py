"""Torques that an arm needs at its joints: to hold itself, and to move as the scripted expert does."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

POSTURES = 200
GRAVITY_RESERVE = 3.0
MIN_SHARE, MIN_TORQUE_NM = 0.25, 2.0
"""Least torque of a joint: as a share of the largest one, and absolute."""
SPEED_RAD_S, ACCELERATION_RAD_S2 = 1.5, 8.0
SLOW = 0.25
"""Share of these speeds and accelerations that the torque limits of a file must allow."""
EQUAL_RATIO, LARGE_RATIO = 3.0, 20.0
"""Torque limits are placeholders if one is so many times what the arm needs: equal ones of all joints, and others."""


@dataclass(frozen=True)
class ArmLoad:
    """Largest load of each joint over the joint ranges.

    Attributes:
        gravity_nm: (joints,) torque of gravity.
        motion_nm: (joints,) torque of inertia, damping and friction at working speed.
    """

    gravity_nm: np.ndarray
    motion_nm: np.ndarray

    @property
    def least_nm(self) -> np.ndarray:
        """(joints,) torque limits below which the arm does not hold itself or hardly moves."""
        return self.gravity_nm + SLOW * self.motion_nm

    @property
    def proposed_nm(self) -> np.ndarray:
        """(joints,) torque limits for a model that has none."""
        reserve = GRAVITY_RESERVE * self.gravity_nm
        return np.maximum(reserve, max(MIN_SHARE * reserve.max(), MIN_TORQUE_NM)) + self.motion_nm

    def placeholders(self, torques_nm: Sequence[float]) -> bool:
        """Whether torque limits are numbers that somebody put in, such as 1000 for every joint of a small arm.

        Servos that are made from such limits are so stiff that the arm trembles, and held things creep out of the hand.
        """
        ratio = float((np.asarray(torques_nm) / self.proposed_nm).max())
        return ratio > (EQUAL_RATIO if len(set(torques_nm)) == 1 else LARGE_RATIO)


def load_of(model: mujoco.MjModel, joints: list[int]) -> ArmLoad:
    """Measure the load over postures drawn from the ranges."""
    rng = np.random.default_rng(0)
    data = mujoco.MjData(model)
    limited = model.jnt_limited[joints].astype(bool)[:, None]
    low, high = np.where(limited, model.jnt_range[joints], [-np.pi, np.pi]).T
    dofs = model.jnt_dofadr[joints]
    gravity, inertia = np.zeros(len(joints)), np.zeros(len(joints))
    full = np.zeros((model.nv, model.nv))
    for positions in rng.uniform(low, high, (POSTURES, len(joints))):
        data.qpos[model.jnt_qposadr[joints]] = positions
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        gravity = np.maximum(gravity, np.abs(data.qfrc_bias[dofs]))
        inertia = np.maximum(inertia, np.diag(full)[dofs])
    motion = ACCELERATION_RAD_S2 * inertia + SPEED_RAD_S * model.dof_damping[dofs] + model.dof_frictionloss[dofs]
    return ArmLoad(gravity, motion)

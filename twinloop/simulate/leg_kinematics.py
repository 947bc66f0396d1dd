"""LegKinematics: joint targets of two legs for the poses of their feet and the forces that they exert on the ground."""

import mujoco
import numpy as np

from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.legs.walk_twin import WalkTwin

GRAVITY_M_S2 = 9.81
SOLVES, DAMPING, MAX_SOLVE_RAD = 3, 1e-4, 0.3
"""Steps of the inverse kinematics, their damping, and the largest change of an angle in a step."""
REACH_RAD = 1.5
"""Largest distance of an angle from the nominal pose."""


class LegKinematics:
    """Two legs with six joints each.

    Attributes:
        home: (12,) nominal joint angles.
        feet_m: (2, 3) feet in the nominal pose, in the frame of the base.
        com_m: (3,) centre of mass in the nominal pose, in the frame of the base.
        weight_n: weight of the robot.
    """

    def __init__(self, twin: WalkTwin):
        model = twin.model
        joints = twin.arm_joints.reshape(2, 6)
        self._chains = [
            KinematicChain(model, leg, int(site)) for leg, site in zip(joints, twin.foot_sites, strict=True)
        ]
        self._base_m = model.body_pos[twin.base_body]
        self._stiffness = model.actuator_gainprm[twin.arm_controls, 0]
        self.home = np.array(twin.robot.home_rad)
        self.feet_m = self.feet_of(self.home[None])[0]
        data = mujoco.MjData(model)
        data.qpos[twin.arm_qpos] = self.home
        mujoco.mj_forward(model, data)
        self.com_m = data.subtree_com[twin.base_body] - data.xpos[twin.base_body]
        self.weight_n = float(model.body_subtreemass[twin.base_body]) * GRAVITY_M_S2

    def feet_of(self, angles: np.ndarray) -> np.ndarray:
        """(n, 2, 3) feet in the frame of the base for (n, 12) joint angles."""
        legs = angles.reshape(-1, 2, 6)
        feet = [chain.frames(legs[:, foot]).position_m for foot, chain in enumerate(self._chains)]
        return np.stack(feet, axis=1) - self._base_m

    def solved(self, angles: np.ndarray, places: np.ndarray, turns: np.ndarray) -> np.ndarray:
        """(n, 12) joint angles for places (n, 2, 3) and rotations (n, 2, 3, 3) of the feet in the frame of the base.

        Args:
            angles: (n, 12) angles near the solution.
        """
        angles = angles.reshape(-1, 2, 6).copy()
        for foot, chain in enumerate(self._chains):
            for _ in range(SOLVES):
                pose = chain.frames(angles[:, foot])
                turn = np.cross(pose.rotation, turns[:, foot], axisa=1, axisb=1, axisc=1).sum(axis=2) / 2
                error = np.concatenate([places[:, foot] - (pose.position_m - self._base_m), turn], axis=1)
                square = pose.jacobian @ pose.jacobian.transpose(0, 2, 1) + DAMPING * np.eye(6)
                step = np.einsum("nji,nj->ni", pose.jacobian, np.linalg.solve(square, error[..., None])[..., 0])
                angles[:, foot] += np.clip(step, -MAX_SOLVE_RAD, MAX_SOLVE_RAD)
        return np.clip(angles.reshape(-1, 12), self.home - REACH_RAD, self.home + REACH_RAD)

    def loaded(self, angles: np.ndarray, force: np.ndarray, pressure: np.ndarray) -> np.ndarray:
        """(n, 12) targets with which servos at these angles exert the torques of forces of the feet on the ground.

        Args:
            force: (n, 2, 3) in N, in the frame of the base.
            pressure: (n, 2, 2) place at which it acts, from the middle of the foot.
        """
        torque = np.zeros((len(angles), 2, 6))
        for foot, chain in enumerate(self._chains):
            jacobian = chain.frames(angles.reshape(-1, 2, 6)[:, foot]).jacobian
            place = np.column_stack([pressure[:, foot], np.zeros(len(angles))])
            wrench = np.concatenate([force[:, foot], np.cross(place, force[:, foot])], axis=1)
            torque[:, foot] = np.einsum("nij,ni->nj", jacobian, wrench)
        return angles + torque.reshape(-1, 12) / self._stiffness

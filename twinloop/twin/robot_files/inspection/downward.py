"""Where the tool of an arm can point down, from postures drawn over the joint ranges.

Inverse kinematics takes a while for every place of the base. Most places are out of the question, because the arm has
no posture there with its tool pointing down at the table. The drawn postures tell them apart at once.
"""

import mujoco
import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.twin.kinematic_chain import KinematicChain

POSTURES, ROUND = 60_000, 10_000
LEAN_RAD = 0.35
NEAR_M = 0.07
"""A point counts as reached if the tool of a drawn posture is this near; the postures are not dense."""


class DownwardPoints:
    """Points that the tool reaches while it points down, in the frame of the model.

    Args:
        low, high: (joints,) ranges of the joints.
    """

    def __init__(self, model: mujoco.MjModel, joints: np.ndarray, site: int, low: np.ndarray, high: np.ndarray):
        chain, rng = KinematicChain(model, joints, site), np.random.default_rng(0)
        points = []
        for _ in range(POSTURES // ROUND):
            position_m, rotation = chain.poses(rng.uniform(low, high, (ROUND, len(joints))))
            points.append(position_m[rotation[:, 2, 2] < -np.cos(LEAN_RAD)])
        self.points_m = np.concatenate(points)
        self._tree = scipy.spatial.cKDTree(self.points_m) if len(self.points_m) else None

    def coverage(self, work_m: np.ndarray, position_m: np.ndarray, to_base: np.ndarray) -> float:
        """Share of (n, 3) points of the world that are reached from a place of the base.

        Args:
            to_base: (3, 3) rotation from the world to the frame of the model.
        """
        if self._tree is None:
            return 0.0
        away_m, _ = self._tree.query((work_m - position_m) @ to_base.T, distance_upper_bound=NEAR_M)
        return float(np.isfinite(away_m).mean())

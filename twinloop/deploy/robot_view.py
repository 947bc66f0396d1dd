"""RobotView: a robot's readings in the form that the scripted expert needs.

The tool pose follows from the joints and the twin's kinematics, the object pose from the tracker, and the finger force
from the gripper's effort once the fingers have stopped. Readings of a real robot are late and noisy, so these are
estimates by `observe/estimate.py`.
"""

import numpy as np

from twinloop.deploy.robot import Reading
from twinloop.observe.estimate import NEEDED, StateEstimator
from twinloop.simulate.cell import cross
from twinloop.twin.twin import Twin

ALONE = np.zeros(1, int)
LAG_S = 0.12
"""Time constant of the average of the tool's lag."""


class RobotView:
    """A View of one scene, updated by `take`. All arrays have one row."""

    def __init__(self, twin: Twin):
        self._twin, self._estimate = twin, StateEstimator(twin, width=1)
        self._nothing = np.append(twin.robot.home_rad, twin.robot.gripper.open)[None]
        self._share = 1 - float(np.exp(-twin.control_period_s / LAG_S))
        self.table_height_m = np.zeros(1)
        self.object_half_height_m = np.array([twin.object.half_extents_m[2]])
        self.object_yaw_symmetry_rad = np.array([twin.object.yaw_symmetry_rad])
        self.support_force_n = np.zeros(1)
        self.object_speed_m_s = np.zeros(1)
        # The readings contain no positions of people.
        self.bystander_distance_m = np.full(1, np.inf)
        self.begin()

    def begin(self) -> None:
        """Reset for a new episode."""
        self._estimate.begin(ALONE)
        self._behind_m = np.zeros((1, 3))

    def take(self, reading: Reading, command: np.ndarray | None) -> None:
        """Update with a reading and the last command that was sent, if any."""
        estimate, following = self._estimate, self._estimate.following
        seen = {name: reading.features[name][None] for name in NEEDED}
        estimate.take(seen, self._nothing if command is None else np.asarray(command, float)[None])
        measured_m = estimate.tool_at(following.measured_rad[0])
        self.arm_position_rad = following.believed_rad
        self.tool_position = estimate.tool_at(following.believed_rad[0])[None]
        data = estimate.data
        self.tool_axes = data.site_xmat[self._twin.tool_site].reshape(1, 3, 3).copy()
        self._behind_m += self._share * (self.tool_position - measured_m - self._behind_m)
        self.tool_lag_m = np.sqrt(np.square(self._behind_m).sum(axis=1))
        self.finger_force_n = np.repeat(estimate.pressing_n[:, None], 2, axis=1)
        self.object_position, self.goal_position = estimate.object_pose[:, :3].copy(), estimate.goal_pose[:, :3].copy()
        w, x, y, z = estimate.object_pose[:, 3:].T
        self.object_yaw_rad = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    def jacobian(self) -> np.ndarray:
        joints = self._twin.arm_joints
        data = self._estimate.data
        axes = data.xaxis[None, joints]
        linear = cross(axes, self.tool_position[:, None, :] - data.xanchor[None, joints])
        return np.concatenate([linear, axes], axis=2).transpose(0, 2, 1)

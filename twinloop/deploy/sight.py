"""Sight: a robot's reading as the scripted expert wants to see it.

Where the tool is follows from the joints and the twin's kinematics; where the object is, the tracker says; how hard
the fingers press, the gripper's effort does, once they have stopped moving.

Readings are late on a real robot: `following.py` says where the joints are after all that was sent, `tracking.py` where
the object is.
"""

import mujoco
import numpy as np

from twinloop.deploy.following import Following
from twinloop.deploy.robot import Reading
from twinloop.deploy.tracking import Tracking
from twinloop.simulate.cell import cross
from twinloop.twin.twin import Twin

STILL_SHARE_S = 0.15
"""Fingers are still that move by less than this share of their stroke in a second,"""
STILL_S = 0.1
"""for so long: a motor pulls before anything moves."""
OPEN_SHARE, EMPTY_SHARE = 0.95, 0.05
"""Of the stroke: fingers further apart than the first are open; closer than the second they hold nothing."""
HELD_N = 1.0
LAG_S = 0.12
"""How far the tool is behind is averaged over so long."""
AT_REST_M = 0.01
"""A tool is at rest that is measured this close to where it was sent."""


class Sight:
    """A View of one scene, refreshed by `take`. Rows of one."""

    def __init__(self, twin: Twin):
        self._twin, self._data = twin, mujoco.MjData(twin.model)
        gripper = twin.robot.gripper
        self._stroke = abs(gripper.open - gripper.closed)
        # The sign of an effort that closes: that of the way from open to closed, in control.
        self._closing = np.sign(gripper.closed_control - gripper.open_control)
        self.table_height_m = np.zeros(1)
        self.object_half_height_m = np.array([twin.object.half_extents_m[2]])
        self.object_yaw_symmetry_rad = np.array([twin.object.yaw_symmetry_rad])
        self.support_force_n = np.zeros(1)
        # Nothing here tells where people are.
        self.bystander_distance_m = np.full(1, np.inf)
        self._following = Following(home_rad=np.array(twin.robot.home_rad), period_s=twin.control_period_s)
        self._tracking = Tracking(period_s=twin.control_period_s)
        self._long = max(1, round(STILL_S / twin.control_period_s))
        self._share = 1 - float(np.exp(-twin.control_period_s / LAG_S))
        self.begin()

    def begin(self) -> None:
        """Forget the episode before."""
        self._following.begin()
        self._tracking.begin()
        self._still, self._holds = 0, False
        self._behind_m = np.zeros((1, 3))

    def take(self, reading: Reading, command: np.ndarray | None) -> None:
        """command: the last that was sent, if any was."""
        twin, features = self._twin, reading.features
        state, effort = (features[name].astype(float) for name in ("observation.state", "observation.effort"))
        believed_rad, measured_rad = self._following.take(state[:-1], None if command is None else command[:-1])
        measured_m = self._tool_at(measured_rad)
        self.arm_position_rad = believed_rad[None]
        self.tool_position = self._tool_at(believed_rad)[None]
        self.tool_axes = self._data.site_xmat[twin.tool_site].reshape(1, 3, 3).copy()
        self._behind_m += self._share * (self.tool_position - measured_m - self._behind_m)
        self.tool_lag_m = np.linalg.norm(self._behind_m, axis=1)

        slow = abs(float(features["observation.velocity"][-1])) < STILL_SHARE_S * self._stroke
        self._still = self._still + 1 if slow else 0
        apart = abs(state[-1] - twin.robot.gripper.closed) / self._stroke
        stopped = self._still >= self._long and apart < OPEN_SHARE
        pressing_n = max(0.0, self._closing * effort[-1]) / 2 if stopped else 0.0
        self.finger_force_n = np.full((1, 2), pressing_n)
        opens = command is not None and abs(command[-1] - twin.robot.gripper.closed) / self._stroke > apart
        self._holds = (self._holds or pressing_n > HELD_N) and apart > EMPTY_SHARE and not opens

        scene = features["observation.environment_state"].astype(float)
        if self._holds:
            still = bool(self.tool_lag_m[0] < AT_REST_M)
            pose = self._tracking.carried(scene[:7], tool_m=self.tool_position[0], measured_m=measured_m, still=still)
        else:
            pose = self._tracking.lying(scene[:7])
        self.object_position, self.goal_position = pose[None, :3], scene[None, 7:10]
        w, x, y, z = pose[3:, None]
        self.object_yaw_rad = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        self.object_speed_m_s = np.zeros(1)

    def _tool_at(self, arm_rad: np.ndarray) -> np.ndarray:
        self._data.qpos[self._twin.arm_qpos] = arm_rad
        mujoco.mj_kinematics(self._twin.model, self._data)
        return self._data.site_xpos[self._twin.tool_site].copy()

    def jacobian(self) -> np.ndarray:
        joints = self._twin.arm_joints
        axes = self._data.xaxis[None, joints]
        linear = cross(axes, self.tool_position[:, None, :] - self._data.xanchor[None, joints])
        return np.concatenate([linear, axes], axis=2).transpose(0, 2, 1)

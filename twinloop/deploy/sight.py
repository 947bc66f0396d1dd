"""Sight: a robot's reading as the scripted expert wants to see it.

Where the tool is follows from the measured joints and the twin's kinematics; where the object is, the tracker says;
how hard the fingers press, the gripper's effort does, once they have stopped moving.
"""

import mujoco
import numpy as np

from twinloop.deploy.robot import Reading
from twinloop.simulate.cell import cross
from twinloop.twin.twin import Twin

STILL_SHARE_S = 0.15
"""Fingers are still that move by less than this share of their stroke in a second."""
STEADY_S = 0.2
"""An object that nobody holds lies still: what the tracker says of it is averaged over about this long."""
OPEN_SHARE = 0.9


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
        self.support_force_n = np.zeros(1)
        self._pose: np.ndarray | None = None

    def begin(self) -> None:
        """Forget the episode before."""
        self._pose = None

    def take(self, reading: Reading) -> None:
        twin, features = self._twin, reading.features
        state, effort = (features[name].astype(float) for name in ("observation.state", "observation.effort"))
        self.arm_position_rad = state[None, :-1]
        self._data.qpos[twin.arm_qpos] = state[:-1]
        self._data.qpos[twin.gripper_qpos] = state[-1] / len(twin.gripper_qpos)
        mujoco.mj_kinematics(twin.model, self._data)
        self.tool_position = self._data.site_xpos[None, twin.tool_site].copy()
        self.tool_axes = self._data.site_xmat[twin.tool_site].reshape(1, 3, 3).copy()

        scene = features["observation.environment_state"].astype(float)
        held = abs(state[-1] - twin.robot.gripper.closed) < OPEN_SHARE * self._stroke
        pose = self._steadied(scene[:7], held=held)
        self.object_position, self.goal_position = pose[None, :3], scene[None, 7:10]
        w, x, y, z = pose[3:, None]
        self.object_yaw_rad = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        self.object_speed_m_s = np.zeros(1)

        still = abs(float(features["observation.velocity"][-1])) < STILL_SHARE_S * self._stroke
        pressing_n = max(0.0, self._closing * effort[-1]) / 2
        self.finger_force_n = np.full((1, 2), pressing_n if still else 0.0)

    def _steadied(self, pose: np.ndarray, *, held: bool) -> np.ndarray:
        if self._pose is None or held:
            self._pose = pose
        else:
            # A quaternion and its negative are the same turn.
            same = pose * np.append(np.ones(3), np.full(4, np.sign(pose[3:] @ self._pose[3:]) or 1.0))
            share = 1 - np.exp(-self._twin.control_period_s / STEADY_S)
            self._pose = self._pose + share * (same - self._pose)
        return self._pose

    def jacobian(self) -> np.ndarray:
        joints = self._twin.arm_joints
        axes = self._data.xaxis[None, joints]
        linear = cross(axes, self.tool_position[:, None, :] - self._data.xanchor[None, joints])
        return np.concatenate([linear, axes], axis=2).transpose(0, 2, 1)

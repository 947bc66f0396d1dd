"""Sight: a robot's reading as the scripted expert wants to see it.

Where the tool is follows from the joints and the twin's kinematics; where the object is, the tracker says; how hard
the fingers press, the gripper's effort does, once they have stopped moving.

Readings are late on a real robot, and whoever corrects what is long past begins to swing. So the joints are taken to
be where they were commanded, off by what measurements say in the long run; and an object in the grip is where the tool
is, off by as much as tracker and encoders, both late, say.
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
TRUST_S = 0.4
"""How long measurements take to overrule what was commanded."""


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
        self.begin()

    def begin(self) -> None:
        """Forget the episode before."""
        self._pose: np.ndarray | None = None
        self._lag_rad = np.zeros(len(self._twin.arm_joints))
        self._in_hand_m: np.ndarray | None = None

    def take(self, reading: Reading, command: np.ndarray | None) -> None:
        """command: the last that was sent, if any was."""
        twin, features = self._twin, reading.features
        state, effort = (features[name].astype(float) for name in ("observation.state", "observation.effort"))
        believed_rad = state[:-1]
        if command is not None:
            self._lag_rad += self._share(TRUST_S) * (state[:-1] - command[:-1] - self._lag_rad)
            believed_rad = command[:-1] + self._lag_rad
        measured_m = self._tool_at(state[:-1])
        self.arm_position_rad = believed_rad[None]
        self.tool_position = self._tool_at(believed_rad)[None]
        self.tool_axes = self._data.site_xmat[twin.tool_site].reshape(1, 3, 3).copy()

        scene = features["observation.environment_state"].astype(float)
        held = abs(state[-1] - twin.robot.gripper.closed) < OPEN_SHARE * self._stroke
        pose = self._in_hand(scene[:7], measured_m) if held else self._steadied(scene[:7])
        self.object_position, self.goal_position = pose[None, :3], scene[None, 7:10]
        w, x, y, z = pose[3:, None]
        self.object_yaw_rad = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        self.object_speed_m_s = np.zeros(1)

        still = abs(float(features["observation.velocity"][-1])) < STILL_SHARE_S * self._stroke
        pressing_n = max(0.0, self._closing * effort[-1]) / 2
        self.finger_force_n = np.full((1, 2), pressing_n if still else 0.0)

    def _share(self, seconds: float) -> float:
        """Of what is new in a control period, in an average over so long."""
        return 1 - float(np.exp(-self._twin.control_period_s / seconds))

    def _tool_at(self, arm_rad: np.ndarray) -> np.ndarray:
        self._data.qpos[self._twin.arm_qpos] = arm_rad
        mujoco.mj_kinematics(self._twin.model, self._data)
        return self._data.site_xpos[self._twin.tool_site].copy()

    def _steadied(self, pose: np.ndarray) -> np.ndarray:
        before, self._in_hand_m = self._pose, None
        if before is not None:
            # A quaternion and its negative are the same turn.
            same = pose * np.append(np.ones(3), np.full(4, np.sign(pose[3:] @ before[3:]) or 1.0))
            pose = before + self._share(STEADY_S) * (same - before)
        self._pose = pose
        return pose

    def _in_hand(self, pose: np.ndarray, measured_m: np.ndarray) -> np.ndarray:
        offset_m, self._pose = pose[:3] - measured_m, None
        if self._in_hand_m is not None:
            offset_m = self._in_hand_m + self._share(STEADY_S) * (offset_m - self._in_hand_m)
        self._in_hand_m = offset_m
        return np.append(self.tool_position[0] + offset_m, pose[3:])

    def jacobian(self) -> np.ndarray:
        joints = self._twin.arm_joints
        axes = self._data.xaxis[None, joints]
        linear = cross(axes, self.tool_position[:, None, :] - self._data.xanchor[None, joints])
        return np.concatenate([linear, axes], axis=2).transpose(0, 2, 1)

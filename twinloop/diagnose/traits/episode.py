"""EpisodeTrace: one episode of a robot or its twin, with quantities that several traits use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import numpy as np

from twinloop.signals.pictures import Appearance, appearance
from twinloop.twin.twin import Twin

CLOSING = 0.5  # a gripper command below this share of the stroke is a command to close
RISEN_M = 0.02
STILL_FRAMES = 3
SETTLED_FRAMES = 4  # after the fingers begin to close


class Arm:
    """Kinematics of a twin's arm for given joint positions, without a simulation."""

    def __init__(self, twin: Twin):
        self._model, self._data = twin.model, mujoco.MjData(twin.model)
        self._qpos, self._dofs, self._site = twin.arm_qpos, twin.arm_dofs, twin.tool_site
        self.joints = len(twin.arm_joints)
        gripper = twin.robot.gripper
        self.closed, self.stroke = gripper.closed, gripper.open - gripper.closed
        self.period_s = twin.control_period_s
        self.kind = twin.object.name
        self.thing_columns = twin.pose_columns(twin.things[0].name)
        self.goal_columns = twin.pose_columns(twin.task.goal) if twin.task.goal else None

    def tool(self, position_rad: np.ndarray) -> np.ndarray:
        """(n, 3) tool positions for (n, joints) joint positions."""
        out = np.empty((len(position_rad), 3))
        # The engine computes the kinematics of one state at a time.
        for row, joints in enumerate(position_rad):
            self._data.qpos[self._qpos] = joints
            mujoco.mj_kinematics(self._model, self._data)
            out[row] = self._data.site_xpos[self._site]
        return out

    def lift_n(self, position_rad: np.ndarray, effort_nm: np.ndarray) -> float:
        """Upward force at the tool that these (joints,) torques balance, in N."""
        jacobian = np.zeros((3, self._model.nv))
        self._data.qpos[self._qpos] = position_rad
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacSite(self._model, self._data, jacobian, None, self._site)
        force, *_ = np.linalg.lstsq(jacobian[:, self._dofs].T, effort_nm, rcond=0.02)
        return float(force[2])


@dataclass(frozen=True)
class EpisodeTrace:
    """One episode of a robot or its twin.

    Attributes:
        frames: feature -> (n, ...), with the feature names of a dataset.
        conditions: conditions that the lab recorded; for the twin, those that a lab would have recorded.
        pictures: camera -> (n, height, width, 3) uint8, a few images of the episode.
    """

    frames: Mapping[str, np.ndarray]
    success: bool
    arm: Arm
    conditions: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def look(self) -> Appearance | None:
        return appearance(picture for pictures in self.pictures.values() for picture in pictures)

    @cached_property
    def rows(self) -> int:
        return len(self.frames["action"])

    def part(self, feature: str) -> np.ndarray | None:
        values = self.frames.get(feature)
        return None if values is None else np.asarray(values, float)[: self.rows]

    @cached_property
    def state(self) -> np.ndarray:
        return np.asarray(self.frames["observation.state"], float)

    @cached_property
    def position(self) -> np.ndarray:
        """(n, joints) measured positions of the arm."""
        return self.state[:, :-1]

    @cached_property
    def command(self) -> np.ndarray:
        """(n, joints + 1) commands that were sent; the actions if commands are not recorded."""
        sent = self.part("command")
        return np.asarray(self.frames["action"], float) if sent is None else sent

    @cached_property
    def effort(self) -> np.ndarray | None:
        return self.part("observation.effort")

    @cached_property
    def object(self) -> np.ndarray | None:
        """(n, 7) tracked pose of the first thing."""
        poses = self.part("observation.environment_state")
        return None if poses is None else poses[:, self.arm.thing_columns]

    @cached_property
    def goal(self) -> np.ndarray | None:
        """(n, 7) pose of the goal of a task that has one."""
        poses, columns = self.part("observation.environment_state"), self.arm.goal_columns
        return None if poses is None or columns is None or poses.shape[1] < columns.stop else poses[:, columns]

    @cached_property
    def closing(self) -> np.ndarray:
        """(n,) whether the gripper is commanded to close."""
        return (self.command[:, -1] - self.arm.closed) / self.arm.stroke < CLOSING

    @cached_property
    def first_closing(self) -> int:
        return int(np.argmax(self.closing)) if self.closing.any() else self.rows

    @cached_property
    def held(self) -> np.ndarray:
        """Frames in which the object is carried: the gripper is closing and the object is off the table."""
        poses = self.object
        if poses is None or self.first_closing >= self.rows:
            return np.array([], int)
        height = poses[:, 2] - np.median(poses[: max(self.first_closing, STILL_FRAMES), 2])
        settled = np.arange(self.rows) >= self.first_closing + SETTLED_FRAMES
        return np.flatnonzero(self.closing & settled & (height > RISEN_M))

    @cached_property
    def before(self) -> np.ndarray:
        """Frames before the fingers close, in which the robot does not touch the object."""
        return np.arange(max(self.first_closing - 2, 0))

    @cached_property
    def held_tool(self) -> np.ndarray:
        """(held, 3) tool positions while the object is carried."""
        return self.arm.tool(self.position[self.held])

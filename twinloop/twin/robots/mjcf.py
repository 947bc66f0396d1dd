"""A user's own robot: an MJCF file and a short mapping. The file comes from outside, so it is looked over first."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from twinloop.durable import digest_file
from twinloop.errors import ModelError
from twinloop.twin.robot import Gripper, Robot
from twinloop.twin.robots.mjcf_file import checked_files
from twinloop.twin.robots.trial import try_out


@dataclass(frozen=True)
class MjcfRobot:
    """The mapping from a model's names to what Twinloop needs. Positions in radians, openings in metres."""

    path: Path
    arm_joints: tuple[str, ...]
    gripper_joints: tuple[str, ...]
    gripper_actuator: str
    fingers: tuple[str, ...]
    gripper_open: float
    gripper_closed: float
    tool_site: str
    home_rad: tuple[float, ...]

    def load(self) -> Robot:
        """Check the file, compile it once alone, and describe it as a Robot."""
        files = checked_files(self.path)
        try_out(self.path)
        try:
            model = mujoco.MjSpec.from_file(str(self.path)).compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"{self.path}: MuJoCo cannot compile it: {error}") from None
        joints = [self._joint(model, name) for name in self.arm_joints]
        for name in (*self.gripper_joints,):
            self._joint(model, name)
        self._named(model, "site", self.tool_site)
        for name in self.fingers:
            self._named(model, "body", name)
        if len(self.home_rad) != len(joints):
            raise ModelError(f"{self.path}: home has {len(self.home_rad)} positions for {len(joints)} arm joints")
        actuators = [self._actuator_of(model, joint) for joint in joints]
        drive = self._named(model, "actuator", self.gripper_actuator)
        low, high = model.actuator_ctrlrange[drive]
        forces = model.actuator_forcerange[actuators]
        limited = model.actuator_forcelimited[actuators].astype(bool)
        return Robot(
            name=self.path.stem + "-" + digest_of(files)[:8],
            build=lambda: mujoco.MjSpec.from_file(str(self.path)),
            arm_joints=self.arm_joints,
            arm_actuators=tuple(model.actuator(index).name for index in actuators),
            gripper=Gripper(
                joints=self.gripper_joints,
                actuator=self.gripper_actuator,
                finger_bodies=(self.fingers[0], self.fingers[-1]),
                open=self.gripper_open,
                closed=self.gripper_closed,
                open_control=float(high),
                closed_control=float(low),
            ),
            tool_site=self.tool_site,
            home_rad=self.home_rad,
            velocity_limits_rad_s=(np.pi,) * len(joints),
            torque_limits_nm=tuple(np.where(limited, forces[:, 1], np.inf)),
            reach_m=1.0,
        )

    def _named(self, model: mujoco.MjModel, kind: str, name: str) -> int:
        try:
            return getattr(model, kind)(name).id
        except KeyError as error:
            raise ModelError(f"{self.path}: no {kind} named {name!r}. {error.args[0]}") from None

    def _joint(self, model: mujoco.MjModel, name: str) -> int:
        return self._named(model, "joint", name)

    def _actuator_of(self, model: mujoco.MjModel, joint: int) -> int:
        driven = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT) & (model.actuator_trnid[:, 0] == joint)
        if not driven.any():
            raise ModelError(f"{self.path}: joint {model.joint(joint).name!r} has no actuator that drives it")
        return int(np.flatnonzero(driven)[0])


def digest_of(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(bytes.fromhex(digest_file(path).sha256))
    return digest.hexdigest()

"""A user's robot: an MJCF or URDF file, and a mapping that names the parts of it that Twinloop needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.config.fields import flag, internal, mapped, number, numbers, of_kind, text, texts
from twinloop.config.kinds import Text
from twinloop.config.record import nested, write_record
from twinloop.errors import ModelError
from twinloop.twin import robot_measures
from twinloop.twin.robot import Robot
from twinloop.twin.robot_files.gripper_servo import SERVO
from twinloop.twin.robot_files.mapping import DEFAULT_SITE, GripperMapping, ToolFrame, WorkArea, frame_kind
from twinloop.twin.robot_files.model_source import ModelSource, digest_of
from twinloop.twin.robot_files.prepare import Preparation
from twinloop.twin.robot_files.user_gripper import UserGripper, named
from twinloop.twin.robot_parts.grippers import GRIPPERS


@dataclass(frozen=True, kw_only=True)
class MjcfRobot:
    """The mapping in a config file for a robot that is given by path."""

    mjcf: str = text("", help="the model file (MJCF), relative to the config file; or give `urdf`", otherwise="`urdf`")
    arm_joints: tuple[str, ...] = texts(help="the arm's joints, from the base to the hand")
    gripper: GripperMapping = nested(GripperMapping, help="the gripper")
    home: tuple[float, ...] = numbers(low=-100, high=100, unit="rad", help="arm positions at the start of an episode")
    tool_frame: str | ToolFrame = of_kind(
        frame_kind("a site between the finger tips (z out of the hand, fingers along y), or a body and an offset"),
        DEFAULT_SITE,
    )
    velocity_limits_rad_s: tuple[float, ...] | None = numbers(
        None, low=1e-3, high=1000, unit="rad/s", help="velocity limit of each arm joint",
        otherwise="those of a URDF; for MJCF torque limit over damping of each joint, or 3.14 where that is above 6.28",
    )  # fmt: skip
    reach_m: float | None = number(
        None, low=0.01, high=10, unit="m", help="horizontal reach of the tool from the base",
        otherwise="measured over the joint ranges",
    )  # fmt: skip
    widest_grip_m: float | None = number(
        None, low=0.002, high=1, unit="m", help="things of tasks are made so small that they fit between the fingers",
        otherwise="things have the sizes that tasks give",
    )  # fmt: skip
    closed_tips_m: tuple[float, float, float] | None = numbers(
        None, low=-0.5, high=0.5, count=3, unit="m",
        help="where the tips of the closed fingers are in the tool's frame; beside it for a gripper with one fixed jaw",
        otherwise="at the tool's frame; an attached gripper has its own",
    )  # fmt: skip
    mount_m: tuple[float, float, float] = numbers(
        (0.0, 0.0, 0.0), low=-2, high=2, count=3, unit="m",
        help="where the base stands; objects lie about 0.5 m in front of the origin",
    )  # fmt: skip
    mount_yaw_deg: float = number(
        0.0, low=-360, high=360, unit="deg", help="rotation of the base about the vertical axis"
    )
    area: WorkArea | None = nested(
        WorkArea, optional=True, help="where tasks place things, for an arm that does not reach the usual places"
    )
    urdf: str = text("", help="the model file (URDF), relative to the config file", otherwise="`mjcf`")
    root: str = text(
        "", help="folder that the model and its meshes lie in, relative to the config file",
        otherwise="the model's folder",
    )  # fmt: skip
    packages: dict[str, str] = mapped(
        Text(help="the package's folder"), what="package",
        help="folders of ROS packages by name, relative to the config file, for package:// paths",
    )  # fmt: skip
    skip_missing_meshes: bool = flag(False, help="leave out shapes whose mesh file or package is not there")
    torque_limits_nm: tuple[float, ...] | None = numbers(
        None, low=1e-3, high=1e5, unit="N·m", help="torque limit of each arm joint", otherwise="those of the model"
    )
    servo_stiffness_nm_rad: tuple[float, ...] | None = numbers(
        None, low=1e-3, high=1e7, unit="N·m/rad", help="stiffness of each arm joint's position servo",
        otherwise="the model's; where it has no position servo: full torque at 0.05 rad",
    )  # fmt: skip
    servo_damping_nms_rad: tuple[float, ...] | None = numbers(
        None, low=0, high=1e6, unit="N·m·s/rad", help="damping of each arm joint's position servo",
        otherwise="the model's; where it has no position servo: 0.06 s times the stiffness",
    )  # fmt: skip
    gravity_compensation: bool = flag(
        False, help="compensate gravity; it always is where a position servo replaces another drive"
    )
    remove: tuple[str, ...] = texts((), empty=True, help="bodies that are left out, such as a second arm")
    fixed_joints: tuple[str, ...] = texts(
        (), empty=True, help="joints that are taken out, such as those of a torso or a mobile base"
    )
    folder: Path = internal(Path())

    def problems(self) -> Iterator[tuple[str, str]]:
        if bool(self.mjcf) == bool(self.urdf):
            yield "mjcf", "or `urdf` must be given, and not both"
        for key in (
            "home",
            "velocity_limits_rad_s",
            "torque_limits_nm",
            "servo_stiffness_nm_rad",
            "servo_damping_nms_rad",
        ):
            values = getattr(self, key)
            if values is not None and len(values) != len(self.arm_joints):
                yield key, f"has {len(values)} numbers for {len(self.arm_joints)} arm joints"

    def __hash__(self) -> int:  # the packages are a mapping, which has no hash
        return hash((self.path, self.arm_joints, self.home))

    @property
    def path(self) -> Path:
        return self.folder / (self.mjcf or self.urdf)

    @cached_property
    def source(self) -> ModelSource:
        packages = {name: self.folder / place for name, place in self.packages.items()}
        root = self.folder / self.root if self.root else None
        return ModelSource(self.path, root, packages, self.skip_missing_meshes)

    def to_json(self) -> dict[str, Any]:
        """The mapping as it is written in a config file, independent of the file's folder."""
        written = write_record(self)
        places = {key: str((self.folder / written[key]).resolve()) for key in ("mjcf", "urdf", "root") if written[key]}
        folders = {name: str((self.folder / place).resolve()) for name, place in self.packages.items()}
        empty = {key for key in ("mjcf", "urdf", "root", "packages") if not written[key]}
        return (
            {key: value for key, value in written.items() if key not in empty}
            | places
            | ({"packages": folders} if folders else {})
        )

    def load(self) -> Robot:
        """Check the file, compile it alone, and return it as a Robot."""
        files = self.source.check()
        try:
            model = self.build().compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"{self.path}: MuJoCo cannot compile it: {error}") from None
        joints = [named(self.path, model, "joint", name) for name in self.arm_joints]
        site = named(self.path, model, "site", self.preparation.tool_site)
        actuators = [self._actuator_of(model, joint) for joint in joints]
        torques = robot_measures.torque_limits_nm(model, joints, actuators)
        if self.gripper.attach:
            gripper = GRIPPERS[self.gripper.attach].record
            tips_m = GRIPPERS[self.gripper.attach].closed_tips_m
        else:
            tips_m = (0.0, 0.0, 0.0)
            gripper = UserGripper(self.path, self.driven_gripper, self.home).record(model, joints, site)
        digest = digest_of(files)
        return Robot(
            name=f"{self.path.stem}-{digest[:8]}",
            build=self.build,
            arm_joints=self.arm_joints,
            arm_actuators=tuple(model.actuator(index).name for index in actuators),
            gripper=gripper,
            tool_site=self.preparation.tool_site,
            home_rad=self.home,
            velocity_limits_rad_s=self._velocity_limits_rad_s(model, joints, actuators),
            torque_limits_nm=tuple(map(float, torques)),
            reach_m=self.reach_m or robot_measures.reach_m(model, joints, site),
            widest_grip_m=self.widest_grip_m,
            closing_speed=self.gripper.closing_speed,
            closed_tips_m=tips_m if self.closed_tips_m is None else self.closed_tips_m,
            mount_m=self.mount_m,
            area=None if self.area is None else self.area.area,
            source=self.path.name,
            model_digest=digest,
            mapping=self,
        )

    @property
    def driven_gripper(self) -> GripperMapping:
        """The gripper with the name of its actuator, the model's or the added one."""
        return self.gripper if self.gripper.actuator else replace(self.gripper, actuator=SERVO)

    @property
    def preparation(self) -> Preparation:
        return Preparation(
            source=self.source,
            arm_joints=self.arm_joints,
            gripper=self.gripper,
            tool_frame=self.tool_frame,
            mount_yaw_deg=self.mount_yaw_deg,
            torque_nm=self.torque_limits_nm,
            stiffness_nm_rad=self.servo_stiffness_nm_rad,
            damping_nms_rad=self.servo_damping_nms_rad,
            gravity_compensation=self.gravity_compensation,
            remove=self.remove,
            fixed_joints=self.fixed_joints,
        )

    def build(self) -> mujoco.MjSpec:
        return self.preparation.spec()

    def _velocity_limits_rad_s(
        self, model: mujoco.MjModel, joints: list[int], actuators: list[int]
    ) -> tuple[float, ...]:
        if self.velocity_limits_rad_s is not None:
            return self.velocity_limits_rad_s
        measured = robot_measures.velocity_limits_rad_s(model, joints, actuators)
        if not self.source.is_urdf:
            return measured
        known = self.source.urdf.velocity
        return tuple(known.get(name, speed) for name, speed in zip(self.arm_joints, measured, strict=True))

    def _actuator_of(self, model: mujoco.MjModel, joint: int) -> int:
        driven = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT) & (model.actuator_trnid[:, 0] == joint)
        return int(np.flatnonzero(driven)[0])

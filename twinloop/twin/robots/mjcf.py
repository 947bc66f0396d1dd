"""A user's robot: an MJCF file, and a mapping that names the parts of it that Twinloop needs."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.config.compound import OneOf
from twinloop.config.fields import internal, number, numbers, of_kind, text, texts
from twinloop.config.kinds import Text
from twinloop.config.record import Nested, nested, write_record
from twinloop.durable import digest_file
from twinloop.errors import ModelError
from twinloop.twin.robot import Gripper, Robot
from twinloop.twin.robots import measure
from twinloop.twin.robots.mjcf_file import checked_files
from twinloop.twin.robots.trial import try_out

DEFAULT_SITE = "tool"
ADDED_SITE = "twinloop_tool"
MIN_STROKE = 1e-4  # metres or radians; a smaller change is no movement
MIN_GAP_CHANGE_M = 1e-3


@dataclass(frozen=True)
class GripperMapping:
    """The gripper in the model."""

    joints: tuple[str, ...] = texts(help="joints whose positions add up to the opening; of mirrored joints name one")
    actuator: str = text(filled=True, help="the actuator that opens and closes it, with a control range")
    fingers: tuple[str, str] = texts(count=2, help="the two bodies that touch the object")
    open: float | None = number(
        None, low=-10, high=10, unit="m or rad", help="opening when open", otherwise="measured at that control end"
    )
    closed: float | None = number(
        None, low=-10, high=10, unit="m or rad", help="opening when closed", otherwise="measured at that control end"
    )

    gain_scale: float = number(
        1.0,
        low=0.01,
        high=1000,
        help="multiplies stiffness and damping of the actuator; stock models often grip weakly",
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        if (self.open is None) != (self.closed is None):
            key = "open" if self.open is None else "closed"
            yield key, "is missing; give both openings, or neither to have them measured"
        if self.open is not None and self.open == self.closed:
            yield "open", f"and closed are both {self.open:g}; they must differ"


@dataclass(frozen=True)
class ToolFrame:
    """A tool frame for a model without a site at the tool."""

    body: str = text(filled=True, help="the body that carries the frame, usually the hand")
    offset: tuple[float, ...] = numbers(
        (0.0, 0.0, 0.0),
        low=-2,
        high=2,
        count=3,
        unit="m",
        help="the point between the finger tips, in the body's frame",
    )
    quat: tuple[float, ...] | None = numbers(
        None, low=-1, high=1, count=4, help="rotation in the body's frame, w first: z out of the hand, fingers along y",
        otherwise="y along the line between the fingers, z towards the offset",
    )  # fmt: skip


@dataclass(frozen=True)
class MjcfRobot:
    """The mapping in a config file for a robot that is given by path."""

    mjcf: str = text(filled=True, help="the model file, relative to the config file")
    arm_joints: tuple[str, ...] = texts(help="the arm's joints, from the base to the hand")
    gripper: GripperMapping = nested(GripperMapping, help="the gripper")
    home: tuple[float, ...] = numbers(low=-100, high=100, unit="rad", help="arm positions at the start of an episode")
    tool_frame: str | ToolFrame = of_kind(
        OneOf(
            kinds=(Text(form="the name of a site"), Nested(record=ToolFrame)),
            help="a site between the finger tips (z out of the hand, fingers along y), or a body and an offset",
        ),
        DEFAULT_SITE,
    )
    velocity_limits_rad_s: tuple[float, ...] | None = numbers(
        None, low=1e-3, high=1000, unit="rad/s", help="velocity limit of each arm joint",
        otherwise="torque limit over damping of each joint, or 3.14 where that is above 6.28",
    )  # fmt: skip
    reach_m: float | None = number(
        None, low=0.01, high=10, unit="m", help="horizontal reach of the tool from the base",
        otherwise="measured over the joint ranges",
    )  # fmt: skip
    mount_m: tuple[float, float, float] = numbers(
        (0.0, 0.0, 0.0), low=-2, high=2, count=3, unit="m",
        help="where the base stands; objects lie about 0.5 m in front of the origin",
    )  # fmt: skip
    folder: Path = internal(Path())

    @property
    def path(self) -> Path:
        return self.folder / self.mjcf

    def to_json(self) -> dict[str, Any]:
        """The mapping as it is written in a config file, independent of the file's folder."""
        return write_record(self) | {"mjcf": str(self.path.resolve())}

    def load(self) -> Robot:
        """Check the file, compile it alone, and return it as a Robot."""
        files = checked_files(self.path)
        try_out(self.path)
        try:
            model = self._build().compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"{self.path}: MuJoCo cannot compile it: {error}") from None
        joints = [self._named(model, "joint", name) for name in self.arm_joints]
        site = self._named(model, "site", self._site)
        for what, values in (("home", self.home), ("velocity_limits_rad_s", self.velocity_limits_rad_s)):
            if values is not None and len(values) != len(joints):
                raise ModelError(f"{self.path}: {what} has {len(values)} numbers for {len(joints)} arm joints")
        actuators = [self._servo_of(model, joint) for joint in joints]
        limited = model.actuator_forcelimited[actuators].astype(bool)
        torques = np.where(limited, model.actuator_forcerange[actuators, 1], np.inf)
        return Robot(
            name=self.path.stem + "-" + digest_of(files, self.path.parent)[:8],
            build=self._build,
            arm_joints=self.arm_joints,
            arm_actuators=tuple(model.actuator(index).name for index in actuators),
            gripper=self._gripper(model, joints, site),
            tool_site=self._site,
            home_rad=self.home,
            velocity_limits_rad_s=self.velocity_limits_rad_s or measure.velocity_limits_rad_s(model, joints, actuators),
            torque_limits_nm=tuple(map(float, torques)),
            reach_m=self.reach_m or measure.reach_m(model, joints, site),
            mount_m=self.mount_m,
            model_digest=digest_of(files, self.path.parent),
            mapping=self,
        )

    @property
    def _site(self) -> str:
        return self.tool_frame if isinstance(self.tool_frame, str) else ADDED_SITE

    def _build(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(self.path))
        for actuator in spec.actuators:
            if not actuator.name:  # Twinloop finds actuators by name
                actuator.name = f"{actuator.target}_actuator"
            if actuator.name == self.gripper.actuator:
                actuator.gainprm = actuator.gainprm * self.gripper.gain_scale
                actuator.biasprm = actuator.biasprm * self.gripper.gain_scale
        if isinstance(self.tool_frame, ToolFrame):
            self._add_tool_site(spec, self.tool_frame)
        return spec

    def _add_tool_site(self, spec: mujoco.MjSpec, frame: ToolFrame) -> None:
        body = spec.body(frame.body)
        if body is None:
            known = ", ".join(other.name for other in spec.bodies if other.name)
            raise ModelError(f"{self.path}: tool_frame: no body named {frame.body!r}. Valid names: {known}")
        quat = frame.quat or self._tool_quat(spec.copy(), frame)
        body.add_site(name=ADDED_SITE, pos=frame.offset, quat=quat)

    def _tool_quat(self, spec: mujoco.MjSpec, frame: ToolFrame) -> np.ndarray:
        """Orientation of the tool frame: y along the line between the fingers, z from the body's origin to the tool."""
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        hand = self._named(model, "body", frame.body)
        fingers = [self._named(model, "body", name) for name in self.gripper.fingers]
        to_hand = data.xmat[hand].reshape(3, 3).T
        offset = np.array(frame.offset)
        point = data.xpos[hand] + to_hand.T @ offset
        pads = measure.pads(model, (fingers[0], fingers[1]), point, data)
        ends = data.geom_xpos[list(pads)] if len(pads) == 2 else data.xpos[fingers]
        y = to_hand @ (ends[1] - ends[0])
        z = offset - y * (offset @ y) / max(y @ y, 1e-12)
        if np.linalg.norm(y) < 1e-4 or np.linalg.norm(z) < 1e-4:
            raise ModelError(
                f"{self.path}: tool_frame: its rotation cannot be derived from fingers and offset; give `quat`: "
                "z out of the hand, fingers along y"
            )
        y, z = y / np.linalg.norm(y), z / np.linalg.norm(z)
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.column_stack([np.cross(y, z), y, z]).ravel())
        return quat

    def _gripper(self, model: mujoco.MjModel, arm_joints: list[int], site: int) -> Gripper:
        """The gripper, with openings and controls measured on the model if the mapping does not give them."""
        given = self.gripper
        joints = [self._named(model, "joint", name) for name in given.joints]
        unit = self._gripper_unit(model, joints)
        actuator = self._named(model, "actuator", given.actuator)
        if not model.actuator_ctrllimited[actuator]:
            raise ModelError(f"{self.path}: actuator {given.actuator!r} has no control range; set its ctrlrange")
        first, second = (self._named(model, "body", name) for name in given.fingers)
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        pads = measure.pads(model, (first, second), data.site_xpos[site], data)
        if len(pads) < 2:
            raise ModelError(f"{self.path}: a body of fingers {list(given.fingers)} has no geom that touches things")
        low, high = measure.gripper_ends(
            model, joints=joints, actuator=actuator, pads=(pads[0], pads[1]), arm_joints=arm_joints, home_rad=self.home
        )
        moved = np.subtract(high.positions, low.positions)
        if np.abs(moved).max() < MIN_STROKE or abs(high.opening - low.opening) < MIN_STROKE:
            detail = ", ".join(f"{name} by {by:.3g} {unit}" for name, by in zip(given.joints, moved, strict=True))
            raise ModelError(
                f"{self.path}: actuator {given.actuator!r} does not change the opening: over its control range it "
                f"moves {detail}, and the opening is their sum. Of joints that mirror each other name one"
            )
        opens, closes = (high, low) if high.gap_m > low.gap_m else (low, high)
        if given.open is not None and given.closed is not None:
            return self._given_gripper(low, high, given.open, given.closed, unit)
        if abs(high.gap_m - low.gap_m) < MIN_GAP_CHANGE_M:
            raise ModelError(
                f"{self.path}: the finger pads are {1000 * low.gap_m:.1f} mm apart at both ends of the control range "
                f"of {given.actuator!r}; give `open` and `closed`, or name other fingers"
            )
        return Gripper(
            joints=given.joints,
            actuator=given.actuator,
            finger_bodies=given.fingers,
            open=opens.opening,
            closed=closes.opening,
            open_control=opens.control,
            closed_control=closes.control,
            unit=unit,
        )

    def _given_gripper(
        self, low: measure.GripperEnd, high: measure.GripperEnd, open_: float, closed: float, unit: str
    ) -> Gripper:
        """The gripper with the mapping's openings; their controls are interpolated between the two measured ends."""
        slope = (high.control - low.control) / (high.opening - low.opening)
        controls = [
            float(np.clip(low.control + slope * (opening - low.opening), low.control, high.control))
            for opening in (open_, closed)
        ]
        if controls[0] == controls[1]:
            raise ModelError(
                f"{self.path}: open {open_:g} and closed {closed:g} {unit} cannot be reached: the gripper settles at "
                f"{low.opening:.4g} and {high.opening:.4g} {unit} at the ends of its control range"
            )
        wider = (high.gap_m - low.gap_m) * (controls[0] - controls[1])
        if wider < 0 and abs(high.gap_m - low.gap_m) > MIN_GAP_CHANGE_M:
            gaps = sorted((1000 * low.gap_m, 1000 * high.gap_m))
            raise ModelError(
                f"{self.path}: open {open_:g} and closed {closed:g} {unit} are the wrong way round: the finger pads "
                f"are {gaps[0]:.0f} mm apart at `open` and {gaps[1]:.0f} mm at `closed`. Swap the two numbers"
            )
        return Gripper(
            joints=self.gripper.joints,
            actuator=self.gripper.actuator,
            finger_bodies=self.gripper.fingers,
            open=open_,
            closed=closed,
            open_control=controls[0],
            closed_control=controls[1],
            unit=unit,
        )

    def _gripper_unit(self, model: mujoco.MjModel, joints: list[int]) -> str:
        units = {mujoco.mjtJoint.mjJNT_HINGE.value: "rad", mujoco.mjtJoint.mjJNT_SLIDE.value: "m"}
        found = {units.get(int(model.jnt_type[joint]), "") for joint in joints}
        if len(found) > 1 or "" in found:
            raise ModelError(f"{self.path}: gripper joints {list(self.gripper.joints)} must all slide or all turn")
        return found.pop()

    def _named(self, model: mujoco.MjModel, kind: str, name: str) -> int:
        try:
            return getattr(model, kind)(name).id
        except KeyError as error:
            hint = "; or give tool_frame as {body: ..., offset: [x, y, z]}" if kind == "site" else ""
            raise ModelError(f"{self.path}: no {kind} named {name!r}. {error.args[0]}{hint}") from None

    def _servo_of(self, model: mujoco.MjModel, joint: int) -> int:
        """The actuator of a joint. It must take a position: Twinloop commands joint angles."""
        name = model.joint(joint).name
        driven = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT) & (model.actuator_trnid[:, 0] == joint)
        if not driven.any():
            raise ModelError(f"{self.path}: joint {name!r} has no actuator that drives it")
        actuator = int(np.flatnonzero(driven)[0])
        if model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE.value and (
            model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED.value
        ):
            raise ModelError(
                f"{self.path}: actuator {model.actuator(actuator).name!r} of joint {name!r} takes a torque; "
                "a position servo was expected (<position joint=... kp=... kv=...>)"
            )
        return actuator


def digest_of(files: list[Path], folder: Path) -> str:
    """SHA-256 of the contents of a model's files, independent of the model's folder."""
    root = folder.resolve()
    digest = hashlib.sha256()
    for path in sorted({path.resolve().relative_to(root).as_posix() for path in files}):
        digest.update(bytes.fromhex(digest_file(root / path).sha256))
    return digest.hexdigest()

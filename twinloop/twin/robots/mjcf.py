"""A user's own robot: an MJCF file and a short mapping.

The file comes from outside. Before MuJoCo sees it, it is read as XML: no document type (entities can expand
without end), no plugins, no file outside its own folder.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.robot import Gripper, Robot

MOST_BYTES = 16 * 1024 * 1024
MOST_ELEMENTS = 50_000
FOLDER_ATTRIBUTES = ("assetdir", "meshdir", "texturedir")


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


def checked_files(path: Path) -> list[Path]:
    """The model file and every file that it names, all of them inside its folder."""
    root = path.parent.resolve()
    files: list[Path] = []
    _visit(path, root, files, depth=0)
    return files


def _visit(path: Path, root: Path, files: list[Path], *, depth: int) -> None:
    if depth > 8:
        raise ModelError(f"{path}: includes files more than 8 deep")
    files.append(path)
    tree = _parse(path)
    folders = {"": Path()}
    for compiler in tree.iter("compiler"):
        folders |= {name: Path(compiler.attrib[name]) for name in FOLDER_ATTRIBUTES if name in compiler.attrib}
    for element in tree.iter():
        if element.tag in ("plugin", "extension"):
            raise ModelError(f"{path}: <{element.tag}> loads code into the engine and is not allowed")
        for attribute, name in element.attrib.items():
            if attribute.startswith("file") and element.tag != "size":
                target = _inside(path, root, name, folders, element.tag)
                if element.tag in ("include", "model") and target.suffix == ".xml":
                    _visit(target, root, files, depth=depth + 1)
                else:
                    files.append(target)


def _inside(path: Path, root: Path, name: str, folders: dict[str, Path], tag: str) -> Path:
    kind = {"mesh": "meshdir", "texture": "texturedir"}.get(tag, "")
    folder = folders.get(kind, folders.get("assetdir", Path())) if kind else Path()
    target = (path.parent / folder / name).resolve()
    if not target.is_relative_to(root):
        raise ModelError(f"{path}: <{tag}> names {name!r}, which is outside its folder {root}")
    if not target.is_file():
        raise ModelError(f"{path}: <{tag}> names {name!r}, but there is no such file in {root}")
    return target


def _parse(path: Path) -> ElementTree.Element:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise ModelError(f"{path}: {size:,} bytes; a model file may have {MOST_BYTES:,} at most")
        text = path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            raise ModelError(f"{path}: a document type or entity is not allowed in a model file")
        tree = ElementTree.fromstring(text)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except ElementTree.ParseError as error:
        raise ModelError(f"{path}: not XML: {error}") from None
    if tree.tag not in ("mujoco", "mujocoinclude"):
        raise ModelError(f"{path}: the root element is <{tree.tag}>; <mujoco> was expected")
    count = sum(1 for _ in tree.iter())
    if count > MOST_ELEMENTS:
        raise ModelError(f"{path}: {count:,} elements; a model may have {MOST_ELEMENTS:,} at most")
    return tree


def digest_of(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()

"""ModelSource: a robot's model file, MJCF or URDF, and the folders that its assets may lie in."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import mujoco

from twinloop.durable import digest_file
from twinloop.errors import ModelError
from twinloop.twin.robot_files.missing_assets import leave_out
from twinloop.twin.robot_files.mjcf_file import MjcfFiles, check_files, refuse_part
from twinloop.twin.robot_files.model_cache import key_of, read_entry, write_entry
from twinloop.twin.robot_files.trial import try_out
from twinloop.twin.robot_files.urdf_file import UrdfModel, read_urdf

ENTRY = "trial-1"
"""Name of entries in the cache: models that the engine has compiled within the limits."""
LEAST_HINGES, LEAST_RAD, MOST_RAD = 3, 1.0, 7.0
"""Ranges of so many hinges up to these numbers are radians."""
MOST_NAMED = 5


@dataclass(frozen=True)
class ModelSource:
    """A model file.

    Attributes:
        root: folder that the model and its assets lie in; None: the model's folder.
        packages: folders of ROS packages by name, for `package://` paths in a URDF.
        skip_missing_meshes: leave out shapes whose mesh is not there.
    """

    path: Path
    root: Path | None = None
    packages: Mapping[str, Path] = field(default_factory=dict)
    skip_missing_meshes: bool = False

    @property
    def is_urdf(self) -> bool:
        return self.path.suffix.lower() in (".urdf", ".xacro")

    @cached_property
    def urdf(self) -> UrdfModel:
        return read_urdf(
            self.path, root=self.root or self.path.parent, packages=self.packages,
            skip_missing_meshes=self.skip_missing_meshes,
        )  # fmt: skip

    @cached_property
    def mjcf(self) -> MjcfFiles:
        return check_files(self.path, root=self.root, skip_missing=self.skip_missing_meshes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about parts of the model that were left out or changed."""
        if self.is_urdf:
            return self.urdf.notes
        missing = self.mjcf.missing
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        names = ", ".join(missing[:MOST_NAMED])
        return (f"{len(missing)} files are missing and left out: {names}{more}",) if missing else ()

    def check(self) -> list[Path]:
        """Check the file, compile it in a separate process, and return it and all files that it names."""
        for name, folder in (*self.packages.items(), *([("root", self.root)] if self.root else [])):
            if not folder.is_dir():
                raise ModelError(f"{self.path}: {name}: there is no folder {folder}")
        files = list(self.urdf.files if self.is_urdf else self.mjcf.files)
        if not self.is_urdf:
            refuse_part(self.path)
        key = key_of(ENTRY, self._trial_parts(files))
        if read_entry(key) is None:
            if self.is_urdf:
                try_out(self.path, self.urdf.text, self.urdf.assets)
            else:
                try_out(self.path, missing=self.mjcf.missing)
            write_entry(key, b"compiled")
        return files

    def _trial_parts(self, files: list[Path]) -> Iterator[bytes]:
        """All that the outcome of a trial depends on."""
        yield mujoco.mj_versionString().encode()
        yield self.urdf.text.encode() if self.is_urdf else "\n".join(self.mjcf.missing).encode()
        for file in files:
            yield str(file.resolve()).encode()
            yield bytes.fromhex(digest_file(file).sha256)

    def spec(self) -> mujoco.MjSpec:
        """A new spec of the model as it is in the file. Angles that must be radians are taken as such."""
        if self.is_urdf:
            return self.urdf.spec()
        spec = mujoco.MjSpec.from_file(str(self.path))
        leave_out(spec, self.mjcf.missing)
        if in_radians(spec):
            spec.compiler.degree = False
        return spec


def in_radians(spec: mujoco.MjSpec) -> bool:
    """Whether the file has no unit of angles, so that they are degrees, but ranges that no arm has in degrees.

    Files that other files include, such as those of robosuite, have their unit there.
    """
    hinges = [joint for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_HINGE]
    widest = [abs(float(end)) for joint in hinges for end in joint.range if joint.range[0] < joint.range[1]]
    return bool(spec.compiler.degree) and len(hinges) >= LEAST_HINGES and LEAST_RAD < max(widest, default=0) < MOST_RAD


def digest_of(files: list[Path]) -> str:
    """SHA-256 of the contents of a model's files, independent of where they lie."""
    digest = hashlib.sha256()
    for content in sorted({digest_file(path).sha256 for path in files}):
        digest.update(bytes.fromhex(content))
    return digest.hexdigest()

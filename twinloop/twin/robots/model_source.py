"""ModelSource: a robot's model file, MJCF or URDF, and the folders that its assets may lie in."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import mujoco

from twinloop.durable import digest_file
from twinloop.errors import ModelError
from twinloop.twin.robots.mjcf_file import checked_files
from twinloop.twin.robots.trial import try_out
from twinloop.twin.robots.urdf_file import UrdfModel, read_urdf


@dataclass(frozen=True)
class ModelSource:
    """A model file.

    Attributes:
        root: folder that the model and its assets lie in; None: the model's folder.
        packages: folders of ROS packages by name, for `package://` paths in a URDF.
        skip_missing_meshes: leave out shapes of a URDF whose mesh is not there.
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

    def check(self) -> list[Path]:
        """Check the file, compile it in a separate process, and return it and all files that it names."""
        for name, folder in (*self.packages.items(), *([("root", self.root)] if self.root else [])):
            if not folder.is_dir():
                raise ModelError(f"{self.path}: {name}: there is no folder {folder}")
        if self.is_urdf:
            files = list(self.urdf.files)
            try_out(self.path, self.urdf.text, self.urdf.assets)
        else:
            files = checked_files(self.path, root=self.root)
            try_out(self.path)
        return files

    def spec(self) -> mujoco.MjSpec:
        """A new spec of the model as it is in the file."""
        return self.urdf.spec() if self.is_urdf else mujoco.MjSpec.from_file(str(self.path))


def digest_of(files: list[Path]) -> str:
    """SHA-256 of the contents of a model's files, independent of where they lie."""
    digest = hashlib.sha256()
    for content in sorted({digest_file(path).sha256 for path in files}):
        digest.update(bytes.fromhex(content))
    return digest.hexdigest()

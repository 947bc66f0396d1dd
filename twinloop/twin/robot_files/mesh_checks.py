"""Checks of mesh files before the engine reads them, and conversion of those that it cannot read."""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.meshes.mesh_file import FORMATS, STL_HEADER, STL_RECORD, binary_stl, read_triangles

LARGEST_M, SMALLEST_M = 5.0, 1e-4
READABLE = (".msh", *FORMATS)
CONVERTED = (".dae", ".ply", ".glb", ".gltf")
"""Formats that the engine cannot read."""
LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class MeshSize:
    """Size of a mesh in the units of its file.

    Attributes:
        extents: (3,) edge lengths of its bounding box.
        converted: the mesh as binary STL, where the engine cannot read the file itself.
    """

    extents: np.ndarray
    converted: bytes | None = None


def check_mesh(path: Path, scale: np.ndarray, element: str) -> MeshSize:
    """Raise ModelError unless the mesh can be read and has the size of a part of a robot.

    Args:
        element: what names the mesh, for the message.
    """
    what = f"{path}: mesh of {element}"
    if path.suffix.lower() not in READABLE:
        raise ModelError(
            f"{what} is a {path.suffix or 'file without ending'}; {', '.join(READABLE)} can be read. Convert it, for "
            "example with Blender or meshlab, and name the new file"
        )
    refuse_lfs_pointer(path, what)
    size = _size(path)
    largest = float((size.extents * np.abs(scale)).max())
    if largest > LARGEST_M:
        factor = 10.0 ** -math.ceil(math.log10(largest / 2))
        raise ModelError(
            f"{what} is {largest:.3g} m long; parts of a robot are at most {LARGEST_M:g} m. It is probably in "
            f"millimetres or centimetres: multiply its scale ({_words(scale)}) by {min(factor, 0.01):g}"
        )
    if largest < SMALLEST_M:
        raise ModelError(f"{what} is {largest:.3g} m long; multiply its scale ({_words(scale)}) by 1000")
    return size


def refuse_lfs_pointer(path: Path, what: str) -> None:
    """Raise ModelError for a file of a repository that was cloned without its large files."""
    try:
        with path.open("rb") as file:
            pointer = file.read(len(LFS_POINTER)) == LFS_POINTER
    except OSError:
        return
    if pointer:
        raise ModelError(f"{what} is a Git LFS pointer, not the file itself. Get the files with `git lfs pull`")


def _words(scale: np.ndarray) -> str:
    return " ".join(f"{number:g}" for number in scale)


def is_closed(path: Path) -> bool | None:
    """Whether every edge of a mesh belongs to two faces; None for a format of which this is not determined."""
    if path.suffix.lower() == ".msh":
        return None
    vertices, faces = read_triangles(path, path.parent)
    return _has_closed_edges(vertices[faces])


def _size(path: Path) -> MeshSize:
    try:
        state = path.stat()
    except OSError:
        return _measured(path, 0, 0)  # which says what is wrong
    return _measured(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _measured(path: Path, _mtime_ns: int, _bytes: int) -> MeshSize:
    kind = path.suffix.lower()
    if kind == ".msh":  # MuJoCo's own format
        return MeshSize(np.full(3, SMALLEST_M))
    vertices, faces = read_triangles(path, path.parent)
    unreadable = kind in CONVERTED or (kind == ".stl" and not _is_binary_stl(path))
    return MeshSize(np.ptp(vertices, axis=0), binary_stl((vertices, faces)) if unreadable else None)


def _is_binary_stl(path: Path) -> bool:
    """Whether the file has the size that its header says."""
    with path.open("rb") as file:
        header = file.read(STL_HEADER)
    faces = int.from_bytes(header[STL_HEADER - 4 :], "little")
    return path.stat().st_size == STL_HEADER + STL_RECORD * faces


def _has_closed_edges(faces: np.ndarray) -> bool:
    """Whether every edge of the (faces, 3, 3) corners is used twice, once in each direction."""
    _, corners = np.unique(faces.reshape(-1, 3), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3).astype(np.int64)
    starts, ends = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    width = int(corners.max()) + 1
    return np.array_equal(np.unique(starts * width + ends), np.unique(ends * width + starts))

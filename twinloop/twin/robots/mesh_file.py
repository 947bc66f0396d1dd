"""Checks of mesh files before the engine reads them, and conversion of those that it cannot read."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.mesh_file import READERS, STL_HEADER, STL_RECORD, binary_stl, read_triangles

LARGEST_M, SMALLEST_M = 5.0, 1e-4
READABLE = (".msh", *READERS)
CONVERTED = (".dae", ".ply", ".glb")
"""Formats that the engine cannot read."""


@dataclass(frozen=True)
class MeshSize:
    """Size of a mesh in the units of its file.

    Attributes:
        extents: (3,) edge lengths of its bounding box.
        closed: every edge belongs to two faces; None where this was not determined.
        converted: the mesh as binary STL, where the engine cannot read the file itself.
    """

    extents: np.ndarray
    closed: bool | None
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


def _words(scale: np.ndarray) -> str:
    return " ".join(f"{number:g}" for number in scale)


def _size(path: Path) -> MeshSize:
    kind = path.suffix.lower()
    if kind == ".msh":  # MuJoCo's own format
        return MeshSize(np.full(3, SMALLEST_M), None)
    vertices, faces = read_triangles(path, path.parent)
    unreadable = kind in CONVERTED or (kind == ".stl" and not _is_binary_stl(path))
    converted = binary_stl((vertices, faces)) if unreadable else None
    return MeshSize(np.ptp(vertices, axis=0), _is_closed(vertices[faces]), converted)


def _is_binary_stl(path: Path) -> bool:
    """Whether the file has the size that its header says."""
    with path.open("rb") as file:
        header = file.read(STL_HEADER)
    faces = int.from_bytes(header[STL_HEADER - 4 :], "little")
    return path.stat().st_size == STL_HEADER + STL_RECORD * faces


def _is_closed(faces: np.ndarray) -> bool:
    """Whether every edge of the (faces, 3, 3) corners is used twice, once in each direction."""
    _, corners = np.unique(faces.reshape(-1, 3), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3).astype(np.int64)
    starts, ends = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    width = int(corners.max()) + 1
    return np.array_equal(np.unique(starts * width + ends), np.unique(ends * width + starts))

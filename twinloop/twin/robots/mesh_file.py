"""Checks of mesh files (STL, OBJ) before the engine reads them."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import ModelError

MOST_BYTES = 128 * 1024 * 1024
MOST_FACES = 200_000  # of an STL file, in MuJoCo
LARGEST_M, SMALLEST_M = 5.0, 1e-4
READABLE = (".stl", ".obj", ".msh")
STL_HEADER, STL_FACE = 84, 50


@dataclass(frozen=True)
class MeshSize:
    """Size of a mesh in the units of its file.

    Attributes:
        extents: (3,) edge lengths of its bounding box.
        closed: every edge belongs to two faces; None where this was not determined.
    """

    extents: np.ndarray
    closed: bool | None


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
    size = _size(path, what)
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


def _size(path: Path, what: str) -> MeshSize:
    content = read_bounded(path, MOST_BYTES, error=ModelError)
    if path.suffix.lower() == ".stl":
        faces = _stl_faces(content, what)
    elif path.suffix.lower() == ".obj":
        faces = _obj_vertices(content, what)
    else:
        return MeshSize(np.full(3, 0.1), None)
    if not np.isfinite(faces).all():
        raise ModelError(f"{what} has points that are not numbers; export it again")
    points = faces.reshape(-1, 3)
    return MeshSize(np.ptp(points, axis=0), _is_closed(faces) if faces.ndim == 3 else None)


def _stl_faces(content: bytes, what: str) -> np.ndarray:
    """(faces, 3, 3) corners."""
    count = int.from_bytes(content[80:84], "little") if len(content) >= STL_HEADER else 0
    if not count or len(content) != STL_HEADER + count * STL_FACE:
        kind = "a text STL" if content[:5] == b"solid" else "damaged or cut off"
        raise ModelError(f"{what} is {kind}; MuJoCo reads binary STL files. Export it as binary STL")
    if count > MOST_FACES:
        raise ModelError(f"{what} has {count:,} faces; at most {MOST_FACES:,} are read. Simplify it")
    rows = np.frombuffer(content, np.uint8, offset=STL_HEADER).reshape(count, STL_FACE)
    return rows[:, 12:48].copy().view("<f4").reshape(count, 3, 3).astype(float)


def _obj_vertices(content: bytes, what: str) -> np.ndarray:
    """(vertices, 3)."""
    lines = [line.split()[1:4] for line in content.splitlines() if line.startswith(b"v ")]
    try:
        points = np.array(lines, float).reshape(-1, 3)
    except ValueError:
        points = np.zeros((0, 3))
    if not len(points):
        raise ModelError(f"{what} has no vertices that can be read; export it again")
    return points


def _is_closed(faces: np.ndarray) -> bool:
    """Whether every edge of the (faces, 3, 3) corners is used twice, once in each direction."""
    _, corners = np.unique(faces.reshape(-1, 3), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3).astype(np.int64)
    starts, ends = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    width = int(corners.max()) + 1
    return np.array_equal(np.unique(starts * width + ends), np.unique(ends * width + starts))

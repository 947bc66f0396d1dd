"""Readers of mesh files: OBJ, STL, COLLADA, PLY and glTF. Only triangles are read; `mesh_look.py` reads looks."""

import struct
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import ModelError, StorageError, UsageError
from twinloop.twin.meshes.collada import Triangles, read_collada
from twinloop.twin.meshes.gltf import read_gltf, read_gltf_text
from twinloop.twin.meshes.ply import read_ply

MOST_BYTES = 64 * 1024 * 1024
MOST_FACES = 200_000
FREE_FORM = {"curv", "curv2", "surf", "cstype"}
STL_HEADER, STL_RECORD = 84, 50
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_triangles(path: Path, root: Path) -> Triangles:
    """Read a mesh file that lies in the folder `root`.

    Raises:
        ModelError: the file is outside the folder, missing, too large, of another kind, or malformed.
    """
    file = inside(path, root)
    reader = READERS.get(file.suffix.lower())
    if file.suffix.lower() == GLTF_TEXT:
        reader = partial(read_gltf_text, beside=lambda name: _content(inside(file.parent / name, root)))
    if reader is None:
        raise ModelError(
            f"{path}: a mesh is a file of the kind {', '.join(FORMATS)}, not {file.suffix or 'one without a suffix'}"
        )
    try:
        vertices, faces = reader(_content(file))
    except UsageError as error:
        raise ModelError(f"{path}: {error}") from None
    if not len(faces):
        raise ModelError(f"{path}: has no triangles; export the object as a mesh")
    if len(faces) > MOST_FACES:
        raise ModelError(f"{path}: has {len(faces):,} triangles; {MOST_FACES:,} at most are read: decimate the mesh")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError(f"{path}: a face names vertex {int(faces.max()) + 1}, but there are {len(vertices)}")
    if not np.isfinite(vertices).all():
        raise ModelError(f"{path}: a coordinate is not a finite number; export the mesh again")
    return vertices, faces


def _content(file: Path) -> bytes:
    try:
        return read_bounded(file, MOST_BYTES, error=ModelError)
    except StorageError as error:
        raise ModelError(str(error)) from None


def inside(path: Path, root: Path) -> Path:
    """The resolved file. It must be in `root`, also after links are followed."""
    if "\0" in str(path):
        raise ModelError(f"{str(path)!r}: is no path; it has a zero byte in it")
    try:
        folder = root.resolve()
        file = (folder / path).resolve()
    except (OSError, RuntimeError) as error:
        raise ModelError(f"{path}: is no path ({error})") from None
    if not file.is_relative_to(folder):
        raise ModelError(
            f"{path}: is outside the config's folder {folder}; copy it into that folder, or name the folder it "
            "lies in with `root`"
        )
    if not file.is_file():
        raise ModelError(f"{path}: there is no such file in {folder}")
    return file


def _read_obj(content: bytes) -> Triangles:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"is not an OBJ file: it is no text (byte {error.start})") from None
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), start=1):
        words = line.split()
        try:
            if not words:
                continue
            if words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
                if len(vertices[-1]) != 3:
                    raise ValueError
            elif words[0] == "f":
                corners = [_obj_index(word, len(vertices)) for word in words[1:]]
                if len(corners) < 3:
                    raise ValueError
                # A polygon becomes a fan of triangles.
                faces += [(corners[0], one, other) for one, other in pairwise(corners[1:])]
        except (ValueError, IndexError):
            raise UsageError(f"line {number} is not valid OBJ: {line.strip()[:80]!r}") from None
        if words[0] in FREE_FORM:
            raise UsageError(f"line {number}: curves and free-form surfaces are not read; export triangles")
    return np.array(vertices, float).reshape(-1, 3), np.array(faces, int).reshape(-1, 3)


def _obj_index(word: str, count: int) -> int:
    """Index from 0. OBJ counts from 1, or backwards from the last vertex."""
    index = int(word.partition("/")[0])
    if index == 0:
        raise ValueError
    return index - 1 if index > 0 else count + index


def _read_stl(content: bytes) -> Triangles:
    if len(content) >= STL_HEADER:
        (count,) = struct.unpack_from("<I", content, STL_HEADER - 4)
        if len(content) == STL_HEADER + STL_RECORD * count:
            if count > MOST_FACES:
                raise UsageError(f"has {count:,} triangles; {MOST_FACES:,} at most are read: decimate the mesh")
            corners = np.frombuffer(content, STL_TRIANGLE, offset=STL_HEADER)["corners"]
            return _soup(corners.reshape(-1, 3).astype(float))
    if content.lstrip().startswith(b"solid"):
        words = content.split()
        places = [index for index, word in enumerate(words) if word == b"vertex"]
        try:
            corners = np.array([[float(words[index + axis]) for axis in (1, 2, 3)] for index in places], float)
        except (ValueError, IndexError):
            raise UsageError("is not a valid STL file: a vertex needs three numbers") from None
        if len(corners) % 3:
            raise UsageError(f"is not a valid STL file: {len(corners)} corners are no triangles; it may be cut off")
        return _soup(corners.reshape(-1, 3))
    raise UsageError("is not a valid STL file: neither text nor of the size that its header says; it may be cut off")


def _soup(corners: np.ndarray) -> Triangles:
    return corners, np.arange(len(corners)).reshape(-1, 3)


def binary_stl(triangles: Triangles) -> bytes:
    """The content of a binary STL file."""
    vertices, faces = triangles
    records = np.zeros(len(faces), STL_TRIANGLE)
    records["corners"] = vertices[faces]
    return bytes(STL_HEADER - 4) + struct.pack("<I", len(faces)) + records.tobytes()


READERS: dict[str, Callable[[bytes], Triangles]] = {
    ".obj": _read_obj, ".stl": _read_stl, ".dae": read_collada, ".ply": read_ply, ".glb": read_gltf,
}  # fmt: skip
GLTF_TEXT = ".gltf"
FORMATS = (*READERS, GLTF_TEXT)

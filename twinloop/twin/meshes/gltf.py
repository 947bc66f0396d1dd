"""Reader of glTF files: the triangles of all meshes in the scene, in metres.

Materials, animations and skins are not read. The standard says that y points up. Files in public models differ: binary
ones (.glb) are in the frame of their link, and text files (.gltf) have y up, so only these are turned.
"""

import base64
import binascii
import json
import struct
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import numpy as np

from twinloop.errors import UsageError
from twinloop.twin.meshes.collada import DEEPEST, MOST_INSTANCES, Triangles

MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
SIZES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
TRIANGLES = 4
EMBEDDED = "data:"
Y_UP_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def read_gltf_text(content: bytes, beside: Callable[[str], bytes]) -> Triangles:
    """The same of a text file (.gltf), whose numbers are in files beside it or embedded; y is turned up to z.

    Args:
        beside: reads a file by its path relative to the .gltf file.
    """
    try:
        tree = json.loads(content)
        buffers = [_buffer(str(buffer["uri"]), beside) for buffer in tree.get("buffers", [])]
        vertices, faces = _Document(tree, buffers).triangles()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UsageError(f"is not a valid .gltf file: {type(error).__name__} {error}"[:120]) from None
    return vertices @ Y_UP_TO_Z_UP.T, faces


def _buffer(uri: str, beside: Callable[[str], bytes]) -> bytes:
    if not uri.startswith(EMBEDDED):
        return beside(unquote(uri))
    try:
        return base64.b64decode(uri.partition(",")[2], validate=True)
    except binascii.Error as error:
        raise UsageError(f"is not a valid .gltf file: its embedded numbers are not base64 ({error})") from None


def read_gltf(content: bytes) -> Triangles:
    """(n, 3) vertices and (m, 3) vertex indices of a binary file (.glb).

    Raises:
        UsageError: the file is malformed, or compressed; the message does not name the file.
    """
    try:
        tree, binary = _chunks(content)
        return _Document(tree, [binary]).triangles()
    except (KeyError, IndexError, TypeError, ValueError, struct.error, RecursionError) as error:
        raise UsageError(f"is not a valid .glb file: {type(error).__name__} {error}"[:120]) from None


def _chunks(content: bytes) -> tuple[dict[str, Any], bytes]:
    if len(content) < 20 or struct.unpack_from("<I", content)[0] != MAGIC:
        raise UsageError("is not a .glb file: its first bytes are others")
    place, parts = 12, {}
    while place + 8 <= len(content):
        size, kind = struct.unpack_from("<II", content, place)
        parts[kind] = content[place + 8 : place + 8 + size]
        place += 8 + size
    return json.loads(parts[JSON_CHUNK]), parts.get(BINARY_CHUNK, b"")


class _Document:
    def __init__(self, tree: dict[str, Any], buffers: list[bytes]):
        self._tree, self._buffers = tree, buffers
        required = tree.get("extensionsRequired", [])
        if required:
            raise UsageError(f"needs the glTF extension {required[0]:.60}, which is not read; export without it")
        self._vertices: list[np.ndarray] = []
        self._faces: list[np.ndarray] = []
        self._count = self._instances = 0

    def triangles(self) -> Triangles:
        scenes = self._tree.get("scenes", [])
        roots = scenes[self._tree.get("scene", 0)].get("nodes", []) if scenes else range(len(self._tree["nodes"]))
        for node in roots:
            self._visit(node, np.eye(4), 0)
        if not self._faces:
            return np.zeros((0, 3)), np.zeros((0, 3), int)
        return np.concatenate(self._vertices), np.concatenate(self._faces)

    def _visit(self, number: int, to_world: np.ndarray, depth: int) -> None:
        self._instances += 1
        if depth > DEEPEST or self._instances > MOST_INSTANCES:
            raise UsageError(f"has more than {MOST_INSTANCES} nodes, or nodes more than {DEEPEST} deep")
        node = self._tree["nodes"][number]
        to_world = to_world @ _transform(node)
        if "mesh" in node:
            for primitive in self._tree["meshes"][node["mesh"]]["primitives"]:
                if primitive.get("mode", TRIANGLES) == TRIANGLES:
                    self._add(primitive, to_world)
        for child in node.get("children", ()):
            self._visit(child, to_world, depth + 1)

    def _add(self, primitive: dict[str, Any], to_world: np.ndarray) -> None:
        points = self._accessor(primitive["attributes"]["POSITION"]).astype(float)
        indices = (
            self._accessor(primitive["indices"])[:, 0].astype(int)
            if "indices" in primitive
            else np.arange(len(points) // 3 * 3)
        )
        self._vertices.append(points @ to_world[:3, :3].T + to_world[:3, 3])
        faces = indices[: len(indices) // 3 * 3].reshape(-1, 3) + self._count
        self._faces.append(faces if np.linalg.det(to_world[:3, :3]) > 0 else faces[:, ::-1])
        self._count += len(points)

    def _accessor(self, number: int) -> np.ndarray:
        """(elements, components) the values of an accessor."""
        accessor = self._tree["accessors"][number]
        view = self._tree["bufferViews"][accessor["bufferView"]]
        dtype, size, count = np.dtype(KINDS[accessor["componentType"]]), SIZES[accessor["type"]], int(accessor["count"])
        first = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        step = int(view.get("byteStride", size * dtype.itemsize))
        buffer = self._buffers[int(view.get("buffer", 0))]
        if count < 1 or first < 0 or step < 1 or first + (count - 1) * step + size * dtype.itemsize > len(buffer):
            raise UsageError("is not a valid glTF file: it is shorter than its header says; it may be cut off")
        return np.ndarray((count, size), dtype, buffer, first, (step, dtype.itemsize))


def _transform(node: dict[str, Any]) -> np.ndarray:
    """(4, 4) from the frame of a node to that of its parent."""
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = np.array(node.get("rotation", (0, 0, 0, 1)), float)
    turn = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    out = np.eye(4)
    out[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)), float)
    out[:3, 3] = node.get("translation", (0, 0, 0))
    return out

"""PLY and glTF meshes: each way to write a box gives the same box; malformed files are refused."""

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.twin.small_robots import urdf_arm
from tests.twin.test_collada import CORNERS, QUADS, TRIANGLES
from twinloop.errors import ModelError
from twinloop.twin.meshes.mesh_file import read_triangles
from twinloop.twin.robot_files.model_source import ModelSource

HEADER = """ply
format {order} 1.0
comment a box
element vertex 8
property float x
property float y
property float z
property uchar red
element face 6
property list uchar int vertex_indices
end_header
"""


def ply(order: str) -> bytes:
    if order == "ascii":
        rows = [f"{x:g} {y:g} {z:g} 200" for x, y, z in CORNERS]
        rows += [f"4 {' '.join(map(str, quad))}" for quad in QUADS]
        return HEADER.format(order=order).encode() + "\n".join(rows).encode() + b"\n"
    sign = "<" if order == "binary_little_endian" else ">"
    body = b"".join(struct.pack(f"{sign}fffB", *corner, 200) for corner in CORNERS)
    body += b"".join(struct.pack(f"{sign}Biiii", 4, *quad) for quad in QUADS)
    return HEADER.format(order=order).encode() + body


def glb(*, node: dict | None = None, indexed: bool = True) -> bytes:
    points = CORNERS if indexed else CORNERS[np.array(TRIANGLES).ravel()]
    binary = points.astype("<f4").tobytes()
    primitive: dict = {"attributes": {"POSITION": 0}}
    views = [{"buffer": 0, "byteLength": len(binary)}]
    accessors = [{"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3"}]
    if indexed:
        corners = np.array(TRIANGLES, "<u2").tobytes()
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(corners)})
        accessors.append({"bufferView": 1, "componentType": 5123, "count": 3 * len(TRIANGLES), "type": "SCALAR"})
        primitive["indices"] = 1
        binary += corners
    tree = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"children": [1]}, {"mesh": 0, **(node or {})}], "meshes": [{"primitives": [primitive]}],
        "accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": len(binary)}],
    }  # fmt: skip
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def gltf(*, embedded: bool, named: str = "numbers.bin") -> bytes:
    """The same as text, with y up: what is 6 long along z of the link is so along y of the file."""
    turned = CORNERS[:, [0, 2, 1]] * [1, 1, -1]
    numbers = turned.astype("<f4").tobytes() + np.array(TRIANGLES, "<u4").tobytes()
    uri = f"data:application/octet-stream;base64,{base64.b64encode(numbers).decode()}" if embedded else named
    tree = {
        "asset": {"version": "2.0"}, "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(turned), "type": "VEC3"},
                      {"bufferView": 1, "componentType": 5125, "count": 3 * len(TRIANGLES), "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0}, {"buffer": 0, "byteOffset": 12 * len(turned)}], "buffers": [{"uri": uri}],
    }  # fmt: skip
    return json.dumps(tree).encode()


NUMBERS = base64.b64decode(json.loads(gltf(embedded=True))["buffers"][0]["uri"].partition(",")[2])
BOXES = {
    "beside.gltf": gltf(embedded=False), "embedded.gltf": gltf(embedded=True),
    "text.ply": ply("ascii"), "little.ply": ply("binary_little_endian"), "big.ply": ply("binary_big_endian"),
    "indexed.glb": glb(), "corners.glb": glb(indexed=False),
    "scaled.glb": glb(node={"scale": [2, 1, 1], "translation": [9, 0, 0]}),
    "turned.glb": glb(node={"rotation": [0, 0, np.sqrt(0.5), np.sqrt(0.5)]}),
    "mirrored.glb": glb(node={"matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}),
}  # fmt: skip
EXTENTS = {"scaled.glb": [4, 4, 6], "turned.glb": [4, 2, 6]}


@pytest.mark.parametrize("name", BOXES)
def test_every_way_to_write_a_box_gives_the_box(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(BOXES[name])
    (tmp_path / "numbers.bin").write_bytes(NUMBERS)
    vertices, faces = read_triangles(tmp_path / name, tmp_path)
    extents = EXTENTS.get(name, [2, 4, 6])
    assert len(faces) == 12
    assert np.ptp(vertices, axis=0) == pytest.approx(extents)
    corners = vertices[faces]
    volume = np.einsum("fi,fi->f", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]).sum() / 6
    assert volume == pytest.approx(np.prod(extents))  # faces point outwards


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short.ply", ply("binary_little_endian")[:-3], "cut off"),
        ("short.ply", ply("ascii")[:-9], "cut off"),
        ("long.ply", HEADER.format(order="ascii").replace("face 6", "face 999999999").encode(), "cut off"),
        ("plain.ply", b"not a mesh", "no header"),
        ("odd.ply", HEADER.format(order="middle_endian").encode(), "middle_endian"),
        ("short.glb", glb()[:-40], "cut off"),
        ("plain.glb", b"not a mesh, but long enough", "first bytes"),
        ("plain.gltf", b"not a mesh", "not a valid .gltf"),
        ("list.gltf", b"[]", "not a valid .gltf"),
        ("alone.gltf", gltf(embedded=False), "numbers.bin: there is no such file"),
        ("outside.gltf", gltf(embedded=False, named="../../numbers.bin"), "numbers.bin: is outside"),
    ],
)
def test_malformed_files_are_refused_by_name(name: str, content: bytes, message: str, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message) as error:
        read_triangles(tmp_path / name, tmp_path)
    assert name in str(error.value)


@pytest.mark.parametrize("name", ["text.ply", "indexed.glb", "embedded.gltf"])
def test_a_robot_may_have_such_a_mesh(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(BOXES[name])
    (tmp_path / "arm.urdf").write_text(urdf_arm(fingers=True, mesh=name, scale="0.01 0.01 0.01"))
    model = ModelSource(tmp_path / "arm.urdf").spec().compile()
    assert model.nmesh >= 1

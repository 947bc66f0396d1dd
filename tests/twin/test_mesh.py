"""Meshes of users: closed, plausible in size, with the right mass properties and convex parts; or one clear message."""

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.errors import ModelError
from twinloop.twin.meshes.convex_parts import ConvexPart, convex_parts
from twinloop.twin.meshes.mesh_asset import load_mesh, mass_properties
from twinloop.twin.meshes.mesh_file import MOST_BYTES

Mesh = tuple[np.ndarray, np.ndarray]

BOX_FACES = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6],
     [1, 3, 5], [3, 7, 5]]
)  # fmt: skip


def box(x: float, y: float, z: float) -> Mesh:
    corners = np.array([[i, j, k] for k in (0, z) for j in (0, y) for i in (0, x)], float)
    return corners, BOX_FACES


def prism(outline: list[tuple[float, float]], triangles: list[tuple[int, int, int]], height: float) -> Mesh:
    """A prism over a polygon that is given counter-clockwise with its triangles."""
    count = len(outline)
    vertices = np.array([[x, y, z] for z in (0.0, height) for x, y in outline])
    faces = [(c, b, a) for a, b, c in triangles] + [(a + count, b + count, c + count) for a, b, c in triangles]
    for here in range(count):
        there = (here + 1) % count
        faces += [(here, there, there + count), (here, there + count, here + count)]
    return vertices, np.array(faces)


def ell() -> Mesh:
    outline = [(0, 0), (0.1, 0), (0.1, 0.02), (0.02, 0.02), (0.02, 0.08), (0, 0.08)]
    return prism(outline, [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)], 0.03)


def turned(profile: list[tuple[float, float]], sides: int) -> Mesh:
    """A solid of revolution about z. The profile begins and ends on the axis, and goes up on the outside."""
    ring = np.array([[np.cos(angle), np.sin(angle)] for angle in 2 * np.pi * np.arange(sides) / sides])
    rings = [np.column_stack([radius * ring, np.full(sides, height)]) for radius, height in profile[1:-1]]
    vertices = np.vstack([[[0, 0, profile[0][1]]], *rings, [[0, 0, profile[-1][1]]]])
    faces = []
    for here in range(sides):
        there = (here + 1) % sides
        faces.append((0, 1 + there, 1 + here))
        for level in range(len(rings) - 1):
            a, b = 1 + level * sides + here, 1 + level * sides + there
            faces += [(a, b, b + sides), (a, b + sides, a + sides)]
        last = 1 + (len(rings) - 1) * sides
        faces.append((last + here, last + there, len(vertices) - 1))
    return vertices, np.array(faces)


def cup(sides: int = 32) -> Mesh:
    return turned([(0, 0), (0.035, 0), (0.04, 0.09), (0.036, 0.09), (0.031, 0.005), (0, 0.005)], sides)


def obj(mesh: Mesh) -> bytes:
    vertices, faces = mesh
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
    return "\n".join([*lines, *("f " + " ".join(str(index + 1) for index in face) for face in faces)]).encode()


def stl(mesh: Mesh) -> bytes:
    vertices, faces = mesh
    records = [struct.pack("<12fH", 0, 0, 0, *vertices[face].ravel(), 0) for face in faces]
    return b"\0" * 80 + struct.pack("<I", len(faces)) + b"".join(records)


def ascii_stl(mesh: Mesh) -> bytes:
    vertices, faces = mesh
    text = "solid thing\n"
    for face in faces:
        corners = "".join(f"vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in vertices[face])
        text += f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n"
    return (text + "endsolid thing\n").encode()


MESHES: dict[str, Callable[[], Mesh]] = {"ell": ell, "cup": cup, "box": lambda: box(0.1, 0.02, 0.05)}


@cache
def parts_of(name: str) -> tuple[ConvexPart, ...]:
    return convex_parts(*MESHES[name]())


def volume(mesh: Mesh) -> float:
    return mass_properties(*mesh)[0]


@pytest.mark.parametrize(("suffix", "write"), [("obj", obj), ("stl", stl), ("STL", ascii_stl)])
def test_every_format_gives_the_same_solid(tmp_path: Path, suffix: str, write: Callable[[Mesh], bytes]):
    (tmp_path / f"box.{suffix}").write_bytes(write(box(40, 60, 80)))
    asset = load_mesh(f"box.{suffix}", scale=0.001, root=tmp_path)
    assert asset.closed
    assert len(asset.vertices) == 8
    np.testing.assert_allclose(np.sort(asset.extents_m), [0.04, 0.06, 0.08], rtol=1e-6)
    assert asset.volume_m3 == pytest.approx(0.04 * 0.06 * 0.08, rel=1e-6)
    np.testing.assert_allclose(asset.centre_m, [0.02, 0.03, 0.04], rtol=1e-6)
    expected = asset.volume_m3 / 12 * np.diag([0.06**2 + 0.08**2, 0.04**2 + 0.08**2, 0.04**2 + 0.06**2])
    np.testing.assert_allclose(asset.inertia_m5, expected, atol=1e-12)
    assert len(asset.hulls) == 1


def test_polygons_and_indices_from_the_end(tmp_path: Path):
    quads = "f -8 -6 -5 -7\nf 5 6 8 7\nf 1/1/1 2 6 5\nf 3//2 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
    vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in box(0.04, 0.05, 0.06)[0])
    (tmp_path / "box.obj").write_text(f"mtllib ../secret.mtl\no box\n{vertices}usemtl gold\n{quads}")
    assert load_mesh("box.obj", root=tmp_path).volume_m3 == pytest.approx(0.04 * 0.05 * 0.06)


def test_a_mesh_that_is_inside_out_is_turned(tmp_path: Path):
    vertices, faces = box(0.04, 0.05, 0.06)
    (tmp_path / "box.obj").write_bytes(obj((vertices, faces[:, ::-1])))
    asset = load_mesh("box.obj", root=tmp_path)
    assert volume((asset.vertices, asset.faces)) == pytest.approx(asset.volume_m3) == pytest.approx(0.04 * 0.05 * 0.06)
    assert np.linalg.eigvalsh(asset.inertia_m5).min() > 0


def test_hulls_follow_the_hollow_of_an_l_and_of_a_cup():
    parts = parts_of("ell")
    assert len(parts) == 2
    assert sum(volume((part.vertices, part.faces)) for part in parts) == pytest.approx(volume(ell()), rel=0.01)
    parts = parts_of("cup")
    assert 8 <= len(parts) <= 16
    # One hull would fill the cup: six times its own volume.
    assert sum(volume((part.vertices, part.faces)) for part in parts) < 2 * volume(cup())


@pytest.mark.parametrize("name", MESHES)
def test_hulls_cover_the_mesh_and_stay_in_its_box(name: str):
    mesh, parts = MESHES[name](), parts_of(name)
    low, high = mesh[0].min(axis=0), mesh[0].max(axis=0)
    points = mesh[0][mesh[1]].mean(axis=1)  # centres of faces
    covered = np.zeros(len(points), bool)
    for part in parts:
        assert (part.vertices >= low - 1e-9).all()
        assert (part.vertices <= high + 1e-9).all()
        corners = part.vertices[part.faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        heights = points @ normals.T - np.einsum("ij,ij->i", normals, corners[:, 0])
        covered |= (heights <= 2e-5).all(axis=1)
    assert covered.all()


def test_parts_depend_on_the_mesh_alone():
    for first, second in zip(parts_of("cup"), convex_parts(*cup()), strict=True):
        np.testing.assert_array_equal(first.vertices, second.vertices)
        np.testing.assert_array_equal(first.faces, second.faces)


def test_a_ball_falls_into_the_cup_and_not_onto_it():
    """The engine takes the parts as they are, and the hollow is there."""
    spec = mujoco.MjSpec()
    for number, part in enumerate(parts_of("cup")):
        spec.add_mesh(name=f"part{number}", uservert=part.vertices.ravel(), userface=part.faces.ravel())
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"part{number}")
    ball = spec.worldbody.add_body(name="ball", pos=[0, 0, 0.14])
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    assert data.body("ball").xpos[2] < 0.03


def test_an_open_mesh_is_refused_with_a_remedy_and_can_be_its_hull(tmp_path: Path):
    vertices, faces = box(0.04, 0.05, 0.06)
    (tmp_path / "box.obj").write_bytes(obj((vertices, faces[:-1])))
    with pytest.raises(ModelError, match=r"box.obj: is not closed.*3 edges belong to one face only.*Fill Holes"):
        load_mesh("box.obj", root=tmp_path)
    asset = load_mesh("box.obj", root=tmp_path, closed=False)
    assert not asset.closed
    assert asset.volume_m3 == pytest.approx(0.04 * 0.05 * 0.06)


def test_one_turned_face_is_named(tmp_path: Path):
    vertices, faces = box(0.04, 0.05, 0.06)
    faces = faces.copy()
    faces[0] = faces[0, ::-1]
    (tmp_path / "box.obj").write_bytes(obj((vertices, faces)))
    with pytest.raises(ModelError, match=r"point to opposite sides.*Recalculate Outside"):
        load_mesh("box.obj", root=tmp_path)


@pytest.mark.parametrize(
    ("size", "scale", "unit"),
    [(80, 1.0, "millimetres"), (6, 1.0, "centimetres"), (0.08, 0.001, "metres"), (3000, 1.0, "longest side is 3e.03")],
)
def test_a_wrong_unit_is_named(tmp_path: Path, size: float, scale: float, unit: str):
    (tmp_path / "box.obj").write_bytes(obj(box(size, size, size)))
    with pytest.raises(ModelError, match=unit):
        load_mesh("box.obj", scale=scale, root=tmp_path)


BAD = {
    "empty.obj": (b"", "no triangles"),
    "words.obj": (b"v 0 0 zero\n", "line 1 is not valid OBJ"),
    "index.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "names vertex 9, but there are 3"),
    "zero.obj": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4 is not valid OBJ"),
    "nan.obj": (b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not a finite number"),
    "curve.obj": (b"v 0 0 0\ncstype bspline\n", "free-form surfaces are not read"),
    "binary.obj": (b"\xff\xfe\x00", "is no text"),
    "point.obj": (b"v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n", "no area|one place"),
    "short.stl": (stl(box(1, 1, 1))[:-7], "it may be cut off"),
    "torn.stl": (b"solid x\nvertex 0 0 0\nvertex 0 0 1\n", "2 corners are no triangles"),
    "mesh.fbx": (b"Kaydara", "of the kind .obj, .stl, .dae, .ply, .glb, .gltf, not .fbx"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, name: str):
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message) as error:
        load_mesh(name, root=tmp_path)
    assert name in str(error.value)


def test_files_outside_the_folder_and_missing_ones_are_refused(tmp_path: Path):
    root = tmp_path / "cell"
    root.mkdir()
    (tmp_path / "box.obj").write_bytes(obj(box(0.1, 0.1, 0.1)))
    (root / "link.obj").symlink_to(tmp_path / "box.obj")
    for path in ("../box.obj", str(tmp_path / "box.obj"), "link.obj"):
        with pytest.raises(ModelError, match="outside the config's folder"):
            load_mesh(path, root=root)
    with pytest.raises(ModelError, match="there is no such file"):
        load_mesh("missing.obj", root=root)


def test_large_files_are_refused_unread(tmp_path: Path):
    with (tmp_path / "large.stl").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ModelError, match="the maximum is"):
        load_mesh("large.stl", root=tmp_path)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_must_be_positive(tmp_path: Path, scale: float):
    (tmp_path / "box.obj").write_bytes(obj(box(0.1, 0.1, 0.1)))
    with pytest.raises(ModelError, match="a positive number was expected"):
        load_mesh("box.obj", scale=scale, root=tmp_path)

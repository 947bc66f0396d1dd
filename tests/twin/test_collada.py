"""COLLADA meshes: every way to write a box gives the same box, in metres; malformed files are refused."""

from pathlib import Path

import numpy as np
import pytest

from tests.twin.small_robots import urdf_arm
from twinloop.errors import ModelError, UsageError
from twinloop.twin.meshes.collada import read_collada
from twinloop.twin.meshes.mesh_file import binary_stl, read_triangles
from twinloop.twin.robot_files.model_source import ModelSource

CORNERS = np.array([(x, y, z) for x in (0, 2) for y in (0, 4) for z in (0, 6)], float)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [(a, b, c) for a, *rest in QUADS for b, c in (rest[:2], rest[1:])]


def collada(shape: str, *, node: str = "", unit: str = "0.01") -> str:
    numbers = " ".join(f"{number:g}" for number in CORNERS.ravel())
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
    <asset><unit meter="{unit}"/><up_axis>Y_UP</up_axis></asset>
    <library_geometries><geometry id="box"><mesh>
      <source id="at"><float_array id="numbers" count="24">{numbers}</float_array>
        <technique_common><accessor source="#numbers" count="8" stride="3"/></technique_common></source>
      <vertices id="corners"><input semantic="POSITION" source="#at"/></vertices>{shape}</mesh></geometry>
    </library_geometries>
    <library_visual_scenes><visual_scene id="scene"><node>{node}<instance_geometry url="#box"/></node></visual_scene>
    </library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""


def _words(faces: list[tuple[int, ...]]) -> str:
    return " ".join(f"{corner} 0" for face in faces for corner in face)  # a normal after each vertex


INPUTS = '<input semantic="VERTEX" source="#corners" offset="0"/><input semantic="NORMAL" source="#at" offset="1"/>'
SHAPES = {
    "triangles": f"<triangles>{INPUTS}<p>{_words(TRIANGLES)}</p></triangles>",
    "polylist": f"<polylist>{INPUTS}<vcount>{'4 ' * 6}</vcount><p>{_words(QUADS)}</p></polylist>",
    "polygons": f"<polygons>{INPUTS}{''.join(f'<p>{_words([quad])}</p>' for quad in QUADS)}</polygons>",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_faces_gives_the_same_box_in_metres(shape: str):
    vertices, faces = read_collada(collada(SHAPES[shape]).encode())
    assert len(faces) == 12
    assert np.ptp(vertices, axis=0) == pytest.approx([0.02, 0.04, 0.06])
    corners = vertices[faces]
    assert np.einsum("fi,fi->f", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]).sum() / 6 == pytest.approx(
        0.02 * 0.04 * 0.06
    )


def test_nodes_move_turn_and_scale_their_shapes():
    steps = "<translate>100 0 0</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>"
    vertices, _ = read_collada(collada(SHAPES["triangles"], node=steps).encode())
    assert vertices.min(axis=0) == pytest.approx([0.96, 0, 0], abs=1e-9)
    assert vertices.max(axis=0) == pytest.approx([1.0, 0.04, 0.06])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<COLLADA", "not XML"),
        ("<mesh/>", "root element"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA/>", "document type"),
        (collada("<triangles><p>0 1 2</p></triangles>"), "VERTEX"),
        (collada(f"<triangles>{INPUTS}<p>0 0 1 0 99 0</p></triangles>"), "vertex 99"),
        (collada(f"<triangles>{INPUTS}<p>0 0 x 0</p></triangles>"), "no numbers"),
        (collada(f"<polylist>{INPUTS}<vcount>3</vcount><p>0 0 1 0</p></polylist>"), "vcount"),
        (collada("").replace("#box", "#other"), "geometry 'other'"),
    ],
)
def test_a_malformed_file_is_refused(content: str, words: str):
    with pytest.raises(UsageError, match=words):
        read_collada(content.encode())


def test_a_urdf_with_a_collada_mesh_compiles_with_its_size(tmp_path: Path):
    (tmp_path / "forearm.dae").write_text(collada(SHAPES["polylist"]))
    (tmp_path / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="forearm.dae"))
    source = ModelSource(tmp_path / "arm.urdf")
    assert tmp_path / "forearm.dae" in source.check()
    model = source.spec().compile()
    assert np.ptp(model.mesh_vert, axis=0).sum() == pytest.approx(0.12, abs=1e-3)


def test_stl_bytes_are_read_back(tmp_path: Path):
    box = read_collada(collada(SHAPES["triangles"]).encode())
    (tmp_path / "box.stl").write_bytes(binary_stl(box))
    vertices, faces = read_triangles(tmp_path / "box.stl", tmp_path)
    np.testing.assert_allclose(vertices[faces], box[0][box[1]], atol=1e-7)
    (tmp_path / "cut.dae").write_text(collada(SHAPES["triangles"])[:-30])
    with pytest.raises(ModelError, match=r"cut\.dae"):
        read_triangles(tmp_path / "cut.dae", tmp_path)

"""MJCF: MuJoCo loads the folder without this package, and it moves like the twin."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.scene_export.made import workshop
from twinloop.run.default import embedded_config
from twinloop.scene_export import Snapshot, export_scene, snapshot_of
from twinloop.scene_export.snapshot import STATE
from twinloop.scene_export.spec.assets import texture_pixels

EXACT = ("body_mass", "body_inertia", "body_ipos", "jnt_range", "dof_armature", "dof_damping", "actuator_gainprm",
         "actuator_biasprm", "actuator_forcerange", "eq_solref", "flex_friction")  # fmt: skip


def loaded(folder: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    mujoco.mj_forward(model, data)
    return model, data


def source_of(snapshot: Snapshot) -> mujoco.MjData:
    data = mujoco.MjData(snapshot.model)
    for name in STATE:
        getattr(data, name)[:] = snapshot.state[name]
    mujoco.mj_forward(snapshot.model, data)
    return data


def test_the_file_has_the_twins_values_and_start(snapshot: Snapshot, tmp_path: Path):
    export_scene(snapshot, tmp_path / "out", "mjcf")
    model, data = loaded(tmp_path / "out")
    source = source_of(snapshot)
    for field in EXACT:
        np.testing.assert_allclose(getattr(model, field), getattr(snapshot.model, field), rtol=1e-12, err_msg=field)
    np.testing.assert_allclose(data.xpos, source.xpos, atol=1e-12)
    np.testing.assert_allclose(data.xmat, source.xmat, atol=1e-12)
    names = {model.geom(geom).name: geom for geom in range(model.ngeom)}
    for geom in range(snapshot.model.ngeom):
        name = snapshot.model.geom(geom).name
        if name:
            np.testing.assert_array_equal(model.geom_friction[names[name]], snapshot.model.geom_friction[geom])
            np.testing.assert_allclose(data.geom_xpos[names[name]], source.geom_xpos[geom], atol=1e-7)


def test_a_hundred_steps_later_the_state_is_the_same(snapshot: Snapshot, tmp_path: Path):
    exported = export_scene(snapshot, tmp_path / "out", "mjcf")
    model, data = loaded(tmp_path / "out")
    source = source_of(snapshot)
    before = source.qpos.copy()
    for _ in range(100):
        mujoco.mj_step(model, data)
        mujoco.mj_step(snapshot.model, source)
    assert np.abs(source.qpos - before).max() > 1e-6, "nothing moved, so the test would prove nothing"
    np.testing.assert_allclose(data.qpos, source.qpos, atol=1e-7)
    np.testing.assert_allclose(data.sensordata, source.sensordata, rtol=1e-3, atol=1e-3)
    assert exported.scene.check.state <= 1e-7


def test_an_episode_is_exported_with_its_drawn_values(tmp_path: Path):
    config = embedded_config()
    masses = []
    for episode in (None, 5, 6):
        folder = tmp_path / str(episode)
        export_scene(snapshot_of(config, episode=episode), folder, "mjcf")
        model, data = loaded(folder)
        index = json.loads((folder / "scene.json").read_text())
        assert index["episode"] == episode
        masses.append(float(model.body("object").mass[0]))
        if episode is not None:
            assert masses[-1] == pytest.approx(index["drawn"]["object_mass_kg"], rel=1e-9)
        pose = next(body for body in index["bodies"] if body["name"] == "object")["position_m"]
        np.testing.assert_allclose(data.body("object").xpos, pose)
    assert len(set(masses)) == 3


def test_looks_are_in_the_file(tmp_path: Path):
    config = embedded_config()
    snapshot = snapshot_of(config, episode=5)
    export_scene(snapshot, tmp_path / "out", "mjcf")
    model, _ = loaded(tmp_path / "out")
    looks = snapshot.looks
    assert looks is not None
    assert {model.camera(index).name for index in range(model.ncam)} == set(config.cameras_or_default)
    assert model.nlight == looks.nlight
    for texture in range(looks.ntex):
        pixels, drawn = (texture_pixels(of, texture) for of in (model, looks))
        np.testing.assert_array_equal(pixels, drawn[: len(pixels)])  # a cube of six equal sides is stored once
    wrist = looks.camera("wrist").id
    np.testing.assert_allclose(model.camera("wrist").pos, looks.cam_pos[wrist])
    np.testing.assert_array_equal(model.light_diffuse, looks.light_diffuse)
    table = int(model.geom("table").matid[0])
    assert model.material(table).name == "table"
    assert {"floor", "table_base"} <= {model.geom(geom).name for geom in range(model.ngeom)}
    np.testing.assert_allclose(model.vis.headlight.ambient, looks.vis.headlight.ambient)


def test_meshes_and_textures_are_files_with_the_same_content(tmp_path: Path):
    snapshot = workshop()
    export_scene(snapshot, tmp_path / "out", "mjcf")
    assets = sorted(path.name for path in (tmp_path / "out" / "assets").iterdir())
    assert assets == ["checks.png", "flag.obj", "sides.png", "wedge.obj"]
    model, data = loaded(tmp_path / "out")
    source, old = source_of(snapshot), snapshot.model
    np.testing.assert_array_equal(model.tex_data, old.tex_data)
    corners = [of.mesh_texcoord[of.mesh_facetexcoord[-2:]] for of in (model, old)]  # the two triangles of the flag
    np.testing.assert_allclose(*corners, atol=1e-6)
    np.testing.assert_allclose(model.hfield_data, old.hfield_data, atol=1e-6)
    for mesh in range(old.nmesh):
        (geom,) = np.flatnonzero((old.geom_type == mujoco.mjtGeom.mjGEOM_MESH.value) & (old.geom_dataid == mesh))
        points = [
            vertices_of(of_model, mesh) @ of_data.geom_xmat[geom].reshape(3, 3).T + of_data.geom_xpos[geom]
            for of_model, of_data in ((old, source), (model, data))
        ]
        np.testing.assert_allclose(np.sort(points[0], axis=0), np.sort(points[1], axis=0), atol=1e-6)


def vertices_of(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    start = model.mesh_vertadr[mesh]
    return model.mesh_vert[start : start + model.mesh_vertnum[mesh]]

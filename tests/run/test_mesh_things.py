"""A user's mesh as a thing of a scene: in place of a task's own, or beside it; or one message with file and key."""

import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.errors import ConfigError
from twinloop.observe.camera import default_cameras
from twinloop.observe.stage import build_stage
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.grasps import grips_of
from twinloop.twin.meshes.mesh_body import mesh_object

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
MUG = "mesh: assets/mug.obj, scale: 0.001"
OPEN = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    shutil.copytree(ASSETS, folder / "assets")
    text = (ASSETS / "mug.obj").read_text()
    for name, content in {
        "empty.obj": "", "binary.obj": "v 1 2 3\x00\x01", "open.obj": OPEN, "cut.stl": "x" * 100,
        "library.obj": text.replace("mug.mtl", "missing.mtl"), "far.obj": text.replace("mug.mtl", "../../../far.mtl"),
    }.items():  # fmt: skip
        (folder / "assets" / name).write_text(content)
    for name in ("mug.obj", "mug.mtl", "mug.png"):
        shutil.copy(ASSETS / name, folder.parent / name)
    (folder.parent / "far.mtl").write_text("newmtl white\n")
    return folder


def read(thing: str, folder: Path, *, name: str = "object", robot: str = "franka_panda", rows: str = "") -> RunConfig:
    text = f"scene:\n  robot: {robot}\n  things:\n    {name}: {{{thing}}}\nrandomization: {{physics: {{{rows}}}}}\n"
    return config_from_text(text, name="cell.yaml", folder=folder)


def test_the_expert_picks_a_mug_in_place_of_the_tasks_object(folder: Path):
    config = read(
        f"{MUG}, mass_kg: 0.12", folder, rows="object_yaw_deg: [-180, 180], object_position_noise_cm: [-2, 2]"
    )
    twin = twin_of(config)
    assert twin.model.body("object").mass[0] == pytest.approx(0.12)
    cell, expert = Cell(twin, width=16), Expert(twin, config.expert, width=16, seed=0)
    (episodes,) = rollout(cell, iter([config.sampler().draw(0, 16)]), expert, seed=0)
    assert episodes.success.mean() >= 0.8


def test_a_mesh_beside_the_tasks_own_thing_has_the_mass_of_its_density(folder: Path):
    config = read(f"{MUG}, density_kg_m3: 2000", folder, name="mug")
    twin = twin_of(config)
    assert [thing.name for thing in twin.task.things] == ["object", "mug"]
    body = twin.model.body("mug")
    kind = next(thing.object for thing in twin.task.things if thing.name == "mug")
    assert kind.mesh is not None
    assert body.mass[0] == pytest.approx(2000 * kind.mesh.volume_m3, rel=1e-4)
    np.testing.assert_allclose(body.ipos, kind.mesh.centre_m, atol=1e-9)
    moments = 2000 * kind.mesh.volume_m3 * np.linalg.eigvalsh(kind.mesh.inertia_m2)
    np.testing.assert_allclose(np.sort(body.inertia), moments, rtol=1e-3)


def test_convex_parts_touch_and_surfaces_are_seen(folder: Path):
    config = read(MUG, folder)
    twin = twin_of(config)
    model = build_stage(twin, default_cameras(rate_hz=5, width=32, height=32)).model
    geoms = {
        model.geom(int(geom)).name: int(geom) for geom in np.flatnonzero(model.geom_bodyid == model.body("object").id)
    }
    for name, geom in geoms.items():
        touches = bool(model.geom_contype[geom] or model.geom_conaffinity[geom])
        assert touches == (model.geom_group[geom] == 5) == ("look" not in name), name
    material = model.geom_matid[geoms["object.look1"]]
    texture = model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB.value]
    assert model.tex_width[texture] == 64, "the image of the file's material"
    assert len([name for name in geoms if "look" not in name]) > 1, "the hollow of the mug is kept"


def test_a_colour_of_the_config_replaces_the_materials_of_the_file(folder: Path):
    model = twin_of(read(f"{MUG}, colour: red", folder)).model
    assert model.nmat == 0
    assert model.geom("object.look1").rgba[0] > 2 * model.geom("object.look1").rgba[1]


def test_the_digest_has_the_content_of_the_mesh_and_not_its_path(folder: Path, tmp_path: Path):
    config = read(MUG, folder)
    again = config_from_text(config.to_yaml(), name="resolved.yaml", folder=Path("/"))
    assert again.digest == config.digest
    shutil.copytree(ASSETS, tmp_path / "assets")
    assert read(MUG, tmp_path).digest == config.digest
    (tmp_path / "assets" / "mug.mtl").write_text("newmtl white\nKd 0.1 0.9 0.9\n")
    others = {read(MUG, tmp_path).digest, read(f"{MUG}, up: y", folder).digest}
    others |= {read(f"{MUG}, density_kg_m3: 900", folder).digest}
    (tmp_path / "assets" / "mug.obj").write_text((ASSETS / "mug.obj").read_text() + "# another file\n")
    others |= {read(MUG, tmp_path).digest}
    assert len({config.digest, *others}) == 5


def test_grips_fit_the_gripper_and_the_mesh():
    kind = mesh_object(ASSETS / "mug.obj", ASSETS, scale=0.001)
    wide, narrow = grips_of(kind, opening_m=0.08), grips_of(kind, opening_m=0.045)
    for grips, opening_m in ((wide, 0.08), (narrow, 0.045)):
        assert grips.valid.all()
        assert (grips.widths_m < opening_m).all()
        assert (np.abs(grips.at_m[0]) <= np.array(kind.half_extents_m) + 0.01).all()
        np.testing.assert_allclose(np.linalg.det(grips.axes[0]), 1.0)
        assert (grips.axes[0][:, 2, 2] < -0.99).any(), "there is a grip from above"
    from_above = wide.axes[0][:, 2, 2] < -0.99
    assert wide.widths_m[0][from_above].max() == pytest.approx(0.066, abs=0.002), "around the cup"
    from_above = narrow.axes[0][:, 2, 2] < -0.99
    assert narrow.widths_m[0][from_above].max() < 0.015, "the rim: the cup is too wide"


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ("mesh: assets/mug.obj", ["mug.obj", "90.2 m", "millimetres", "scale: 0.001"]),
        ("mesh: assets/mug.obj, scale: 1.0e-05", ["0.000902 m", "scale: 0.001"]),
        ("mesh: assets/empty.obj", ["no triangles", "export"]),
        ("mesh: assets/binary.obj", ["not valid OBJ"]),
        ("mesh: assets/open.obj, scale: 0.05", ["not closed", "one face only", "fill the holes"]),
        ("mesh: assets/cut.stl", ["not a valid STL", "cut off"]),
        ("mesh: assets/library.obj, scale: 0.001", ["missing.mtl", "no such file"]),
        ("mesh: assets/far.obj, scale: 0.001", ["far.mtl", "outside the config's folder"]),
        ("mesh: ../mug.obj, scale: 0.001", ["mug.obj", "outside the config's folder", "root"]),
        ("mesh: assets/none.obj", ["none.obj", "no such file"]),
        ("mesh: assets/mug.png", [".obj, .stl, .dae"]),
        ("scale: 0.001", ["scale", "give `mesh` too"]),
        (f"{MUG}, kind: cube", ["kind", "remove one"]),
        (f"{MUG}, mass_kg: 1, density_kg_m3: 900", ["density_kg_m3", "remove one"]),
    ],
)
def test_bad_meshes_are_refused_with_file_key_and_remedy(thing: str, words: list[str], folder: Path):
    with pytest.raises(ConfigError) as refusal:
        read(thing, folder)
    message = str(refusal.value)
    for word in ("cell.yaml:4: scene.things.object", *words):
        assert word in message, message
    assert "\n" not in message


def test_a_mesh_outside_the_configs_folder_needs_a_named_root(folder: Path):
    config = read("mesh: ../mug.obj, scale: 0.001, root: ..", folder)
    assert config.scene.world.things[0].object.name == "mug"


def test_rows_that_change_primitives_are_refused_for_a_mesh(folder: Path):
    with pytest.raises(ConfigError, match="object_size_scale: applies to objects made of primitives; object is a mesh"):
        read(MUG, folder, rows="object_size_scale: [0.9, 1.1]")


@pytest.mark.parametrize(
    ("thing", "robot", "words"),
    [
        ("kind: puck", "so101", ["opens by 47.8 mm", "the puck is 60 mm wide"]),
        (
            "mesh: assets/brick.obj",
            "franka_panda",
            ["opens by 80 mm", "brick.obj is 110 mm wide where it is narrowest", "smaller scale"],
        ),
    ],
)
def test_a_gripper_that_cannot_close_on_a_thing(thing: str, robot: str, words: list[str], folder: Path):
    corners = [(x, y, z) for z in (0, 0.12) for y in (0, 0.11) for x in (0, 0.13)]
    faces = ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {face}" for face in faces]
    (folder / "assets" / "brick.obj").write_text("\n".join(lines))
    with pytest.raises(ConfigError) as refusal:
        read(thing, folder, robot=robot)
    for word in ("cell.yaml:4: scene.things.object: the gripper of", robot, *words):
        assert word in str(refusal.value)
    assert read(thing, folder, robot=robot, name="bystander_thing"), "a thing that is not grasped may be wide"

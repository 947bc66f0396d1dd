"""URDF: MuJoCo's own reader of URDF finds the links of the scene where `scene.json` says, with the same masses."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from tests.scene_export.made import workshop
from twinloop.scene_export import Snapshot, export_scene
from twinloop.scene_export.transforms import transform
from twinloop.scene_export.urdf.robot import plain


def entities_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {entity["name"]: entity for entity in json.loads((folder / "scene.json").read_text())["entities"]}


def loaded(folder: Path, file: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A URDF file as MuJoCo reads it, with every link kept."""
    text = (folder / file).read_text()
    assets = {path.name: path.read_bytes() for path in (folder / "meshes").glob("*")}
    spec = mujoco.MjSpec.from_string(text.replace("meshes/", ""), assets=assets)
    spec.compiler.fusestatic, spec.compiler.discardvisual = False, False
    model = spec.compile()
    return model, mujoco.MjData(model)


def test_links_are_where_the_twin_has_them(snapshot: Snapshot, tmp_path: Path):
    exported = export_scene(snapshot, tmp_path / "out", "urdf")
    scene, data = exported.scene.model, exported.scene.data
    bodies = {plain(scene.body(body).name): body for body in range(scene.nbody)}
    compared = set()
    for entity in entities_of(tmp_path / "out").values():
        model, state = loaded(tmp_path / "out", entity["file"])
        for name, position in entity["joints"].items():
            state.qpos[model.joint(name).qposadr[0]] = position
        for joint in range(scene.njnt):
            if scene.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL.value:
                set_ball(model, state, plain(scene.joint(joint).name), data.qpos[scene.jnt_qposadr[joint] :][:4])
        mujoco.mj_forward(model, state)
        base = transform(np.array(entity["position_m"]), np.array(entity["quaternion_wxyz"]))
        for body in range(1, model.nbody):
            name = model.body(body).name
            if name not in bodies or scene.body_mass[bodies[name]] == 0:
                continue
            compared.add(name)
            # The frame of a URDF link is at its joint, so centres of mass are compared.
            np.testing.assert_allclose(
                base[:3, :3] @ state.xipos[body] + base[:3, 3], data.xipos[bodies[name]], atol=1e-6, err_msg=name
            )
            assert model.body_mass[body] == pytest.approx(scene.body_mass[bodies[name]], rel=1e-9)
            tensors = [
                axes @ np.diag(of.body_inertia[index]) @ axes.T
                for of, index, axes in (
                    (model, body, base[:3, :3] @ state.ximat[body].reshape(3, 3)),
                    (scene, bodies[name], data.ximat[bodies[name]].reshape(3, 3)),
                )
            ]
            np.testing.assert_allclose(*tensors, atol=1e-6 + 1e-4 * scene.body_inertia[bodies[name]].max())
    nodes = set(scene.flex_nodebodyid)
    # MuJoCo attaches the root link of a URDF file to its world, where links have no mass.
    roots = {plain(entity["name"]) for entity in entities_of(tmp_path / "out").values()}
    weighed = {name for name, body in bodies.items() if scene.body_mass[body] > 0 and body not in nodes}
    assert weighed - compared <= roots


def set_ball(model: mujoco.MjModel, state: mujoco.MjData, name: str, quat: np.ndarray) -> None:
    """Set the three hinges that stand for a ball joint."""
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"{name}_x") < 0:
        return
    rotation = transform(np.zeros(3), quat)[:3, :3]
    angles = {
        "x": np.arctan2(-rotation[1, 2], rotation[2, 2]),
        "y": np.arcsin(rotation[0, 2]),
        "z": np.arctan2(-rotation[0, 1], rotation[0, 0]),
    }
    for axis, angle in angles.items():
        state.qpos[model.joint(f"{name}_{axis}").qposadr[0]] = angle


def test_limits_mimics_and_poses(tmp_path: Path):
    export_scene(workshop(), tmp_path / "out", "urdf")
    entities = entities_of(tmp_path / "out")
    assert {"room", "drawer", "arm/base", "crank", "ball", "hook", "sponge"} == set(entities)
    arm = ElementTree.parse(tmp_path / "out" / entities["arm/base"]["file"]).getroot()
    joints = {joint.get("name"): joint for joint in arm.iter("joint")}
    shoulder = joints["arm_shoulder"]
    assert shoulder.get("type") == "revolute"
    limit = shoulder.find("limit")
    assert limit is not None
    assert [float(limit.get(key, "nan")) for key in ("lower", "upper", "effort")] == [-2, 2, 30]
    mimic = joints["arm_left"].find("mimic")
    assert mimic is not None
    assert mimic.attrib == {"joint": "arm_right", "multiplier": "1", "offset": "0"}
    assert {f"arm_wrist_{axis}" for axis in "xyz"} <= set(joints)
    drawer = ElementTree.parse(tmp_path / "out" / entities["drawer"]["file"]).getroot()
    assert [link.get("name") for link in drawer.iter("link")] == ["drawer_base", "drawer"]
    assert entities["ball"]["fixed"] is False
    assert entities["hook"]["position_m"] == pytest.approx([0.1, 0.2, 1.1])


def test_a_mimic_keeps_the_reference_positions(tmp_path: Path):
    """y - y0 = a0 + a1 (x - x0) with references that are not 0."""
    xml = """<mujoco><compiler angle="radian"/><worldbody>
      <body name="a"><joint name="x" axis="0 0 1" ref="0.2"/><geom size=".1"/>
      <body name="b"><joint name="y" axis="0 1 0" ref="-0.1"/><geom size=".1"/></body></body></worldbody>
      <equality><joint joint1="y" joint2="x" polycoef="0.05 2 0 0 0"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    empty = np.zeros(0)
    state = {"qpos": np.array([0.3, 0.15]), "qvel": np.zeros(2), "act": empty, "ctrl": empty}
    snapshot = Snapshot(model, {**state, "mocap_pos": np.zeros((0, 3)), "mocap_quat": np.zeros((0, 4))})
    export_scene(snapshot, tmp_path / "out", "urdf")
    mimic = ElementTree.parse(tmp_path / "out" / "a.urdf").getroot().find(".//mimic")
    assert mimic is not None
    assert float(mimic.get("multiplier", "nan")) * 0.3 + float(mimic.get("offset", "nan")) == pytest.approx(0.15)


def test_capsules_and_hulls_keep_their_shape(tmp_path: Path):
    export_scene(workshop(), tmp_path / "out", "urdf")
    arm = ElementTree.parse(tmp_path / "out" / "arm_base.urdf").getroot()
    upper = next(link for link in arm.iter("link") if link.get("name") == "arm_upper")
    parts = [next(iter(geometry)).tag for geometry in upper.iterfind("collision/geometry")]
    assert parts == ["cylinder", "sphere", "sphere"]
    meshes = {mesh.get("filename") for mesh in arm.iter("mesh")}
    assert meshes == {"meshes/wedge.obj", "meshes/wedge_hull.obj", "meshes/flag.obj", "meshes/geom5_ellipsoid.obj"}
    for name in meshes:
        assert (tmp_path / "out" / str(name)).exists()

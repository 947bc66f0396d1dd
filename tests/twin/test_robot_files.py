"""Model files of users: meshes that are not there, folders beside the model, flanges, and arms that are short."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from tests.twin.small_robots import stl_box, urdf_arm
from tests.twin.test_inspect_robot import inspect, successes
from twinloop.errors import ConfigError, ModelError
from twinloop.run.config import config_from_text
from twinloop.twin.robot_files.inspection.fingers import outward_axis
from twinloop.twin.robot_files.inspection.flange import find_flange
from twinloop.twin.robot_files.model_source import ModelSource
from twinloop.twin.robot_files.servos import gains_of, resolve_damping_ratios
from twinloop.twin.robot_measures import torque_limits_nm
from twinloop.twin.robots.so101 import build as so101_build

pytestmark = pytest.mark.usefixtures("no_trials")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("mesh", ["forearm.stl", "package://nobody/forearm.stl"])
def test_shapes_without_their_meshes_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str], mesh: str):
    (folder / "arm.urdf").write_text(urdf_arm(fingers=True, mesh=mesh))
    code, out, err = inspect(capsys, "arm.urdf")
    assert (code, out) == (2, "")
    assert "--skip-missing-meshes" in err
    code, text, _ = inspect(capsys, "arm.urdf", "--skip-missing-meshes")
    assert code == 0
    assert "1 meshes are missing and left out: 'forearm.stl' (<collision> of link 'forearm')" in text
    robot = config_from_text(text, name="cell.yaml", folder=folder).scene.robot
    assert robot.build().body("forearm").geoms == []


def test_an_mjcf_is_read_without_its_missing_meshes_and_textures(folder: Path, capsys: pytest.CaptureFixture[str]):
    links, ends = "", ""
    for number in range(6):
        links += f"<body pos='0 0 .15' name='l{number}'><joint name='j{number}' axis='0 {number % 2} {1 - number % 2}'"
        links += " range='-2 2'/>" + ("<geom type='mesh' mesh='shell' material='wood'/>" if number < 2 else "")
        links += "" if number == 1 else "<geom size='.02'/>"
        ends += "</body>"
    (folder / "arm.xml").write_text(
        "<mujoco><compiler angle='radian'/><asset><mesh file='shell.stl'/><mesh file='skin.stl'/>"
        "<texture name='wood' type='2d' file='wood.png'/><material name='wood' texture='wood'/></asset>"
        f"<worldbody>{links}{ends}</worldbody></mujoco>"
    )
    code, out, err = inspect(capsys, "arm.xml")
    assert (code, out) == (2, "")
    assert "<mesh> names 'shell.stl', <mesh> names 'skin.stl', <texture> names 'wood.png'" in err
    assert "--skip-missing-meshes" in err
    code, text, _ = inspect(capsys, "arm.xml", "--skip-missing-meshes")
    assert code == 0
    assert "3 files are missing and left out: shell.stl, skin.stl, wood.png" in text
    robot = config_from_text(text, name="cell.yaml", folder=folder).scene.robot
    assert robot.build().compile().body("l1").mass > 0
    # In a file that is included the engine changes the names of files that are not there.
    (folder / "scene.xml").write_text("<mujoco><include file='arm.xml'/></mujoco>")
    assert inspect(capsys, "scene.xml", "--skip-missing-meshes")[0] == 0


def test_an_attached_gripper_does_not_take_over_the_defaults_of_the_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    links, ends = "", ""
    for number in range(6):
        links += f"<body pos='0 0 .15' name='l{number}'><joint name='j{number}' axis='0 {number % 2} {1 - number % 2}'"
        links += " range='-2 2'/><geom size='.02'/>"
        ends += "</body>"
    (folder / "arm.xml").write_text(
        "<mujoco><compiler angle='radian'/><default><joint limited='true' damping='50'/>"
        f"<geom contype='0' conaffinity='0'/></default><worldbody>{links}{ends}</worldbody></mujoco>"
    )
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    spec = config_from_text(text, name="cell.yaml", folder=folder).scene.robot.build()
    model = spec.compile()
    saved = mujoco.MjSpec.from_string(spec.to_xml()).compile()
    np.testing.assert_allclose(saved.dof_damping, model.dof_damping, rtol=1e-4)
    np.testing.assert_array_equal(saved.geom_contype, model.geom_contype)
    assert model.geom("left_pad").contype > 0
    assert model.joint("left_finger").damping < 1


def test_a_root_allows_assets_beside_the_folder_of_an_mjcf(folder: Path, capsys: pytest.CaptureFixture[str]):
    stl_box(folder / "robot" / "meshes" / "link.stl", 0.05)
    (folder / "robot" / "mjcf").mkdir()
    links, ends = "", ""
    for number in range(6):
        links += f"<body pos='0 0 .15' name='l{number}'><joint name='j{number}' axis='0 {number % 2} {1 - number % 2}'"
        links += " range='-2 2'/><geom type='mesh' mesh='link'/>"
        ends += "</body>"
    (folder / "robot" / "mjcf" / "arm.xml").write_text(
        "<mujoco><compiler meshdir='../meshes' angle='radian'/><asset><mesh file='link.stl'/></asset>"
        f"<worldbody>{links}{ends}</worldbody></mujoco>"
    )
    code, _, err = inspect(capsys, "robot/mjcf/arm.xml")
    assert code == 2
    assert all(word in err for word in ("link.stl", "outside", "--root DIR"))
    code, text, _ = inspect(capsys, "robot/mjcf/arm.xml", "--root", "robot")
    assert code == 0
    assert yaml.safe_load(text)["scene"]["robot"]["root"] == "robot"


@pytest.mark.parametrize(("end", "expected"), [("link4", "link4"), ("camera_frame", ""), ("", "")])
def test_a_frame_without_shapes_at_the_end_is_the_flange(end: str, expected: str):
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for number in range(4):
        body = body.add_body(name=f"link{number}", pos=[0, 0, 0.2])
        body.add_joint(name=f"joint{number}", axis=[0, 0, 1] if number == 3 else [0, 1, 0], range=[-1, 1])
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02, 0.02, 0.05])
    if end:
        body.add_body(name=end, pos=[0, 0, 0.03])
    place, _ = find_flange(spec.compile(), [0, 1, 2, 3])
    assert (place if isinstance(place, str) else "") == expected


@pytest.mark.parametrize("hand_m", [0.0, 0.08])
def test_the_frame_of_a_hand_may_be_between_its_fingers(hand_m: float):
    """`hand_m`: from the wrist to the frame of the hand. The fingers are 8 cm from the wrist."""
    spec = mujoco.MjSpec()
    wrist = spec.worldbody.add_body(name="wrist")
    wrist.add_joint(name="wrist", axis=[1, 0, 0])
    wrist.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0])
    hand = wrist.add_body(name="hand", pos=[hand_m, 0, 0])
    for sign in (1, -1):
        finger = hand.add_body(name=f"finger{sign}", pos=[0.08 - hand_m, 0.01 * sign, 0.0])
        finger.add_joint(name=f"slide{sign}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, sign, 0], range=[0, 0.04])
        finger.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.03, 0.005, 0.01])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    joints = (model.joint("slide1").id, model.joint("slide-1").id)
    assert outward_axis(model, data, model.body("hand").id, joints) == pytest.approx([1, 0, 0], abs=1e-6)


@pytest.mark.parametrize(("limit", "expected"), [("forcerange='-9 9'", 5.0), ("", 5.0), ("forcerange='-3 3'", 3.0)])
def test_the_smaller_limit_of_drive_and_joint_counts(limit: str, expected: float):
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-5 5'/><geom size='.1'/></body></worldbody>"
        f"<actuator><position joint='j' {limit}/></actuator></mujoco>"
    )
    assert torque_limits_nm(model, [0], [0]) == pytest.approx([expected])


def test_torque_limits_that_cannot_hold_the_arm_are_replaced(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Some files give one small number for all joints."""
    (folder / "arm.urdf").write_text(re.sub(r'effort="[\d.]+" velocity="3.14"', 'effort="9"', urdf_arm(fingers=True)))
    code, text, _ = inspect(capsys, "arm.urdf")
    assert code == 0
    assert "the torque limits of the file are too small for the arm" in text
    limits = yaml.safe_load(text)["scene"]["robot"]["torque_limits_nm"]
    assert min(limits) >= 9
    assert limits[1] > 60  # the shoulder carries 14 kg


def test_unused_properties_of_xacro_do_not_matter(folder: Path):
    (folder / "arm.urdf").write_text(
        urdf_arm(fingers=True).replace(
            '<robot name="arm">',
            '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="width" value=".2"/>',
        )
    )
    ModelSource(folder / "arm.urdf").spec().compile()
    (folder / "arm.urdf").write_text(
        (folder / "arm.urdf").read_text().replace('size="0.05 0.05 0.05"', 'size="${width} 1 1"')
    )
    with pytest.raises(ModelError, match="has xacro macros"):
        _ = ModelSource(folder / "arm.urdf").urdf


def test_a_damping_ratio_becomes_a_damping():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body><joint name='j' armature='1'/><geom size='.01' mass='1e-6'/></body></worldbody>"
        "<actuator><position name='servo' joint='j' kp='100' dampratio='0.5'/></actuator></mujoco>"
    )
    resolve_damping_ratios(spec)
    gains = gains_of(spec.actuators[0], None)
    assert gains.damping_nms_rad == pytest.approx(10.0, rel=1e-3)  # 2 · 0.5 · √(100 · 1)


def test_a_jaw_that_does_not_move_is_beside_the_tool(folder: Path, capsys: pytest.CaptureFixture[str]):
    spec = so101_build()
    spec.compile()
    (folder / "arm.xml").write_text(spec.to_xml())
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    aside_m = robot["closed_tips_m"][1]
    assert 0.01 < abs(aside_m) < 0.04
    assert config_from_text(text, name="cell.yaml", folder=folder).scene.robot.closed_tips_m[1] == aside_m


def test_a_short_arm_works_in_a_ring_around_it(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "arm.urdf").write_text(urdf_arm(fingers=True, length=0.22))
    code, text, _ = inspect(capsys, "arm.urdf")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    area = robot["area"]
    assert 0.05 < area["nearest_m"] < area["farthest_m"] < 0.4
    middle_m = (area["nearest_m"] + area["farthest_m"]) / 2
    assert np.hypot(area["centre_m"][0] + middle_m, area["centre_m"][1]) == pytest.approx(0.48, abs=0.01)
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 4) >= 3
    wrong = text.replace(f"nearest_m: {area['nearest_m']}", "nearest_m: 0.9")
    with pytest.raises(ConfigError, match=r"cell.yaml:\d+: scene.robot.area.farthest_m: is .* more than nearest_m"):
        config_from_text(wrong, name="cell.yaml", folder=folder)

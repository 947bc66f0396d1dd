"""`twinloop inspect-robot`: what it prints is a config that works; a model that cannot work is refused by name."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from tests.twin.small_robots import stl_box, urdf_arm
from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.run.config import config_from_text
from twinloop.twin import robot_measures
from twinloop.twin.robot import Robot
from twinloop.twin.robot_parts.grippers import GRIPPERS
from twinloop.twin.robots.franka_panda import build

pytestmark = pytest.mark.usefixtures("no_trials")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspect(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["inspect-robot", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def successes(config: Path, episodes: int) -> int:
    out = config.parent / "data"
    assert main(["generate", str(config), "--episodes", str(episodes), "--workers", "1", "--out", str(out)]) == 0
    return sum(Dataset.open(out).attempts()["success"].to_pylist())


def test_the_printed_config_of_an_mjcf_runs(folder: Path, capsys: pytest.CaptureFixture[str]):
    spec = build()
    spec.compile()
    Path("arm.xml").write_text(spec.to_xml())
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    assert robot["arm_joints"] == [f"joint{number}" for number in range(1, 8)]
    assert "tool_frame" not in robot  # the model has a site of the default name
    assert robot["gripper"]["actuator"] == "gripper"
    assert set(robot["gripper"]["fingers"]) == {"left_finger", "right_finger"}
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 4) == 4


@pytest.mark.parametrize("drives", ["motor", "velocity"])
def test_an_arm_without_position_servos_gets_them(folder: Path, capsys: pytest.CaptureFixture[str], drives: str):
    spec = build()
    for actuator in list(spec.actuators):
        if actuator.name.startswith("joint"):
            limit = float(actuator.forcerange[1])
            if drives == "motor":
                actuator.set_to_motor()
                actuator.ctrlrange = (-limit, limit)
            else:
                actuator.set_to_velocity(kv=50)
                actuator.ctrlrange = (-2, 2)
            actuator.dyntype, actuator.forcerange = 0, (-limit, limit)
    spec.compile()
    Path("arm.xml").write_text(spec.to_xml())
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    assert f"take a {'torque' if drives == 'motor' else 'velocity'}" in text
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 4) == 4


def test_the_printed_config_of_a_urdf_runs(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Meshes in a package, mimic joints, and servos from effort limits."""
    stl_box(folder / "arm_description" / "meshes" / "forearm.stl", 50.0)
    (folder / "arm_description" / "urdf").mkdir()
    mesh = "package://arm_description/meshes/forearm.stl"
    (folder / "arm_description" / "urdf" / "arm.urdf").write_text(
        urdf_arm(fingers=True, mesh=mesh, scale="0.001 0.001 0.001")
    )
    code, text, _ = inspect(capsys, "arm_description/urdf/arm.urdf")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    assert robot["gripper"]["joints"] == ["left_finger", "right_finger"]
    assert "position servos are added" in text
    (folder / "cell.yaml").write_text(text)
    config = config_from_text(text, name="cell.yaml", folder=folder)
    assert config.scene.robot.velocity_limits_rad_s == pytest.approx([3.14] * 6)
    assert config.scene.robot.torque_limits_nm == pytest.approx([150] * 3 + [28] * 3)
    assert config_from_text(config.to_yaml(), name="again.yaml", folder=Path("/nowhere")).digest == config.digest
    assert successes(folder / "cell.yaml", 4) == 4


def test_an_arm_without_gripper_gets_a_shipped_one(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("arm.urdf").write_text(urdf_arm(fingers=False, effort=False))
    code, text, _ = inspect(capsys, "arm.urdf")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    assert robot["gripper"] == {"attach": "robotiq_2f85", "at": "tool0"}
    assert len(robot["torque_limits_nm"]) == 6
    assert "no torque limits" in text
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 4) == 4


@pytest.mark.parametrize("gripper", GRIPPERS)
def test_the_closed_tips_of_an_attached_gripper_are_where_its_fingers_are(
    folder: Path, capsys: pytest.CaptureFixture[str], gripper: str
):
    Path("arm.urdf").write_text(urdf_arm(fingers=False))
    code, text, _ = inspect(capsys, "arm.urdf", "--gripper", gripper)
    assert code == 0
    robot = config_from_text(text, name="cell.yaml", folder=folder).scene.robot
    reach_m = [fingertip_m(robot, control) for control in (robot.gripper.open_control, robot.gripper.closed_control)]
    assert robot.closed_tips_m[:2] == (0.0, 0.0)
    assert robot.closed_tips_m[2] == pytest.approx(reach_m[1] - reach_m[0], abs=0.003)


def fingertip_m(robot: Robot, control: float) -> float:
    """How far the fingers of the settled gripper extend along the tool's z axis, from the tool's frame."""
    model, gripper = robot.build().compile(), robot.gripper
    data = robot_measures.settled(
        model, model.actuator(gripper.actuator).id, control,
        joints=[model.joint(name).id for name in gripper.joints],
        arm_joints=[model.joint(name).id for name in robot.arm_joints], home_rad=robot.home_rad,
    )  # fmt: skip
    tool = data.site(robot.tool_site)
    out = np.array(tool.xmat).reshape(3, 3)[:, 2]
    fingers = [model.body(name).id for name in gripper.finger_bodies]
    ends = []
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, fingers)):
        along, size = np.abs(out @ data.geom_xmat[geom].reshape(3, 3)), model.geom_size[geom]
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            extent_m = size[0] + along[2] * size[1]
        else:
            assert model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX
            extent_m = along @ size
        ends.append(out @ (data.geom_xpos[geom] - np.array(tool.xpos)) + extent_m)
    return float(max(ends))


@pytest.mark.parametrize(("middle_rad", "yaw_deg"), [(np.pi / 2, -90), (-np.pi / 2, 90)])
def test_an_arm_that_faces_aside_is_turned_to_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str], middle_rad: float, yaw_deg: float
):
    """Its first joint turns a quarter, so the arm reaches the table only if its base is turned."""
    spec = build()
    spec.joint("joint1").range = (middle_rad - np.pi / 4, middle_rad + np.pi / 4)
    spec.actuator("joint1").ctrlrange = spec.joint("joint1").range
    spec.compile()
    Path("arm.xml").write_text(spec.to_xml())
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    assert yaml.safe_load(text)["scene"]["robot"]["mount_yaw_deg"] == yaw_deg
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 2) == 2


def test_the_json_names_joints_and_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "arm.urdf").write_text(urdf_arm(fingers=True))
    code, out, _ = inspect(capsys, "arm.urdf", "--json")
    assert code == 0
    report = json.loads(out.strip().splitlines()[-1])
    assert set(report) == {"file", "scene", "joints", "missing", "notes"}
    assert [joint["role"] for joint in report["joints"]] == ["arm"] * 6 + ["gripper"] * 2
    assert report["joints"][0] == {
        "name": "shoulder_pan", "role": "arm", "kind": "hinge", "range": pytest.approx([-6.283, 6.283], abs=0.01),
        "drive": "none", "torque_nm": 150.0,
    }  # fmt: skip
    assert any("servo" in item for item in report["missing"])


def test_a_package_can_be_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    stl_box(folder / "elsewhere" / "forearm.stl", 0.05)
    Path("arm.urdf").write_text(urdf_arm(fingers=True, mesh="package://arm/forearm.stl"))
    code, _, err = inspect(capsys, "arm.urdf")
    assert code == 2
    assert all(word in err for word in ("arm.urdf", "link 'forearm'", "package 'arm'", "--package arm=DIR"))
    code, text, _ = inspect(capsys, "arm.urdf", "--package", "arm=elsewhere")
    assert code == 0
    assert yaml.safe_load(text)["scene"]["robot"]["packages"] == {"arm": "elsewhere"}
    config_from_text(text, name="cell.yaml", folder=folder)


@pytest.mark.parametrize(
    ("mesh", "size", "words"),
    [
        ("forearm.stl", 5.0 * 1000, ["forearm.stl", "link 'forearm'", "millimetres", "scale"]),
        ("forearm.stl", 1e-5, ["forearm.stl", "by 1000"]),
        ("missing.stl", 0.05, ["1 mesh files are missing", "link 'forearm'", "missing.stl", "--package"]),
        ("../forearm.stl", 0.05, ["outside", "--root DIR"]),
        ("/etc/passwd", 0.05, ["/etc/passwd", "outside"]),
        ("package://nobody/../../etc/passwd", 0.05, ["package 'nobody' is not known"]),
        ("forearm.dae", 0.05, ["forearm.dae", "no triangles"]),
        ("forearm.fbx", 0.05, ["forearm.fbx", ".stl", "Convert"]),
    ],
)
def test_a_mesh_that_cannot_be_used_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], mesh: str, size: float, words: list[str]
):
    stl_box(folder / "models" / "forearm.stl", size)
    (folder / "models" / "forearm.dae").write_text("<COLLADA/>")
    (folder / "models" / "forearm.fbx").write_bytes(b"Kaydara")
    (folder / "models" / "arm.urdf").write_text(urdf_arm(fingers=True, mesh=mesh))
    code, out, err = inspect(capsys, "models/arm.urdf")
    assert (code, out) == (2, "")
    assert all(word in err for word in words), err


def test_a_root_allows_meshes_beside_the_models_folder(folder: Path, capsys: pytest.CaptureFixture[str]):
    stl_box(folder / "robot" / "meshes" / "forearm.stl", 0.05)
    (folder / "robot" / "urdf").mkdir()
    (folder / "robot" / "urdf" / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="../meshes/forearm.stl"))
    assert inspect(capsys, "robot/urdf/arm.urdf")[0] == 2
    code, text, _ = inspect(capsys, "robot/urdf/arm.urdf", "--root", "robot")
    assert code == 0
    assert yaml.safe_load(text)["scene"]["robot"]["root"] == "robot"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot xmlns:xacro='http://ros.org/wiki/xacro'><xacro:macro name='a'/></robot>", ["xacro", "arm.urdf"]),
        ("<robot name='a'><link name='base'/></robot>", ["no joints"]),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><robot/>", ["document type"]),
        ("<mujoco/>", ["<mujoco>", "<robot>"]),
        ("<robot", ["not XML"]),
    ],
)
def test_a_broken_urdf_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str]):
    (folder / "arm.urdf").write_text(text)
    code, _, err = inspect(capsys, "arm.urdf")
    assert code == 2
    assert all(word in err for word in words), err


def test_robots_lists_the_shipped_ones(capsys: pytest.CaptureFixture[str]):
    assert main(["robots", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.strip().splitlines()[-1])["robots"]
    figures = {row["name"]: (row["axes"], row["payload_kg"], row["gripper_opening_m"]) for row in rows}
    assert figures["franka_panda"] == (7, 3.0, pytest.approx(0.08, abs=0.001))
    assert figures["ur5e_2f85"] == (6, 5.0, pytest.approx(0.085, abs=0.002))
    assert figures["xarm7"] == (7, 3.5, pytest.approx(0.084, abs=0.002))
    assert all(row["source"] and row["reach_m"] > 0 for row in rows)


def test_of_two_arms_one_is_used(folder: Path, capsys: pytest.CaptureFixture[str]):
    both = mujoco.MjSpec()
    both.compiler.degree = False
    for prefix, y in (("left/", 0.4), ("right/", -0.4)):
        both.attach(build(), frame=both.worldbody.add_frame(pos=[-0.2, y, 0]), prefix=prefix)
    both.compile()
    Path("two.xml").write_text(both.to_xml())
    code, text, _ = inspect(capsys, "two.xml", "--arm", "right/link1")
    assert code == 0
    robot = yaml.safe_load(text)["scene"]["robot"]
    assert robot["remove"] == ["left/link0"]
    assert robot["arm_joints"][0] == "right/joint1"
    (folder / "cell.yaml").write_text(text)
    assert successes(folder / "cell.yaml", 2) == 2

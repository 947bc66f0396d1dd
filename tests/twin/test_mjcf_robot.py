"""A user's own MJCF robot plugs in by path and a short mapping; a hostile one is refused."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.errors import ConfigError, ModelError
from twinloop.observe.features import features_of
from twinloop.pipeline.explain import estimate
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.twin.robot_files.mjcf_file import checked_files
from twinloop.twin.robots.franka_panda import FRANKA_PANDA, build

pytestmark = pytest.mark.usefixtures("no_trials")

MAPPING = f"""
scene:
  robot:
    mjcf: arm/arm.xml
    arm_joints: [joint1, joint2, joint3, joint4, joint5, joint6, joint7]
    gripper:
      joints: [left_finger, right_finger]
      actuator: gripper
      fingers: [left_finger, right_finger]
      open: 0.08
      closed: 0
    tool_frame: tool
    home: {list(FRANKA_PANDA.home_rad)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A robot as a user has it: an XML file in a folder of its own."""
    (tmp_path / "arm").mkdir()
    spec = build()
    spec.compile()
    (tmp_path / "arm" / "arm.xml").write_text(spec.to_xml())
    return tmp_path


def read(text: str, folder: Path) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=folder)


def test_it_picks_and_places_like_the_built_in_one(folder: Path):
    config = read(MAPPING, folder)
    done = generate(config, folder / "data", episodes=8, workers=1)
    assert done.progress.accepted == 8


def test_its_digest_follows_the_file(folder: Path):
    before = read(MAPPING, folder).digest
    file = folder / "arm" / "arm.xml"
    file.write_text(file.read_text().replace('mass="0.73"', 'mass="0.74"'))
    assert read(MAPPING, folder).digest != before


def test_its_resolved_config_reads_back(folder: Path):
    config = read(MAPPING, folder)
    assert read(config.to_yaml(), Path("/nowhere")).digest == config.digest


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("joint7]", "joint8]", ["joint8", "joint7"]),
        ("actuator: gripper", "actuator: griper", ["griper", "gripper"]),
        ("tool_frame: tool", "tool_frame: tip", ["site", "tip", "tool"]),
        ("mjcf: arm/arm.xml", "mjcf: arm/gone.xml", ["gone.xml", "No such file"]),
        ("fingers: [left_finger, right_finger]", "fingers: [left_finger]", ["fingers", "2"]),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(folder: Path, old: str, new: str, words: list[str]):
    with pytest.raises((ModelError, ConfigError)) as error:
        read(MAPPING.replace(old, new), folder)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>", ["cannot compile"]),
        ("<mujoco><asset><mesh file='../secret.stl'/></asset></mujoco>", ["../secret.stl", "outside"]),
        ("<mujoco><asset><mesh file='/etc/passwd'/></asset></mujoco>", ["/etc/passwd", "outside"]),
        ("<mujoco><compiler meshdir='../..'/><asset><mesh file='a.stl'/></asset></mujoco>", ["a.stl", "outside"]),
        ("<mujoco><include file='../other.xml'/></mujoco>", ["other.xml", "outside"]),
        ("<mujoco><asset><texture type='cube' fileright='../x.png'/></asset></mujoco>", ["../x.png", "outside"]),
        ("<mujoco><asset><mesh file='none.stl'/></asset></mujoco>", ["none.stl", "no such file"]),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco/>", ["document type"]),
        ("<mujoco><extension><plugin plugin='x'/></extension></mujoco>", ["not allowed"]),
        ("<robot/>", ["<robot>", "<mujoco>"]),
        ("<mujoco>", ["not XML"]),
        ("", ["not XML"]),
    ],
)
def test_a_hostile_or_broken_model_is_refused_by_name(folder: Path, xml: str, words: list[str]):
    (folder / "arm" / "arm.xml").write_text(xml)
    with pytest.raises(ModelError) as error:
        read(MAPPING, folder)
    assert "arm.xml" in str(error.value)
    assert all(word in str(error.value) for word in words), error.value


def test_files_inside_the_folder_are_welcome(folder: Path):
    (folder / "arm" / "part.xml").write_text("<mujocoinclude/>")
    (folder / "arm" / "arm.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    assert [path.name for path in checked_files(folder / "arm" / "arm.xml")] == ["arm.xml", "part.xml"]


def test_a_link_out_of_the_folder_is_outside(folder: Path):
    (folder / "secret.stl").write_bytes(np.arange(4).tobytes())
    (folder / "arm" / "inside.stl").symlink_to(folder / "secret.stl")
    (folder / "arm" / "arm.xml").write_text("<mujoco><asset><mesh file='inside.stl'/></asset></mujoco>")
    with pytest.raises(ModelError, match="outside"):
        checked_files(folder / "arm" / "arm.xml")


JAWS = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="base">
      <geom type="cylinder" size="0.05 0.02" contype="0" conaffinity="0"/>
      <body name="upper" pos="0 0 0.1">
        <joint name="pan" axis="0 0 1" range="-2 2" damping="2"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.5"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="lift" axis="0 1 0" range="-2 2" damping="0.5"/>
          <geom type="box" size="0.02 0.02 0.02" mass="0.2"/>
          <body name="left" pos="0.05 0.01 0">
            <joint name="left" JOINT/>
            <geom type="box" size="0.03 0.005 0.01" pos="0.03 0.02 0" mass="0.02"/>
          </body>
          <body name="right" pos="0.05 -0.01 0">
            <geom type="box" size="0.03 0.005 0.01" pos="0.03 -0.02 0" mass="0.02"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="pan" joint="pan" kp="50" kv="5" forcerange="-5 5"/>
    <position joint="lift" kp="50" kv="5" forcerange="-5 5"/>
    DRIVE
  </actuator>
</mujoco>
"""
SLIDE = 'type="slide" axis="0 1 0" range="-0.02 0.03" damping="5"'
HINGE = 'axis="0 0 1" range="-0.5 0.5" damping="0.1"'
OUTWARDS = '<position name="grip" joint="left" kp="200" kv="5" ctrlrange="-0.02 0.03"/>'
INWARDS = """
    <general name="grip" joint="left" ctrlrange="0 255" gainprm="0.0392157" biastype="affine"
             biasprm="-6 -200 -5" gear="-1 0 0 0 0 0"/>"""
TURNS = '<position name="grip" joint="left" kp="20" kv="1" ctrlrange="-0.5 0.5"/>'


JAWS_MAPPING = """
scene:
  robot:
    mjcf: jaws.xml
    arm_joints: [pan, lift]
    gripper: {joints: [left], actuator: grip, fingers: [left, right]GRIPPER}
    tool_frame: {body: hand, offset: [0.1, 0, 0]}
    home: HOME
"""


def jaws(tmp_path: Path, joint: str, drive: str, mapping: str = "", gripper: str = "") -> RunConfig:
    """A robot with one moving finger and no site for the tool."""
    (tmp_path / "jaws.xml").write_text(JAWS.replace("JOINT", joint).replace("DRIVE", drive))
    return read(JAWS_MAPPING.replace("GRIPPER", gripper).replace("HOME", "[0, 0.5]") + mapping, tmp_path)


@pytest.mark.parametrize(("drive", "open_control"), [(OUTWARDS, 0.03), (INWARDS, 0.0)])
@pytest.mark.parametrize("given", ["", ", open: 0.03, closed: -0.02"])
def test_either_end_of_the_control_range_may_be_open(tmp_path: Path, drive: str, open_control: float, given: str):
    """Stock grippers open at the high end of their control range, or at the low one."""
    gripper = jaws(tmp_path, SLIDE, drive, gripper=given).scene.robot.gripper
    assert (gripper.open, gripper.closed) == pytest.approx((0.03, -0.02), abs=1e-3)
    assert gripper.open_control == pytest.approx(open_control, abs=6 if drive is INWARDS else 1e-3)
    assert gripper.closed_control != gripper.open_control
    assert gripper.unit == "m"


def test_a_gripper_that_turns_is_in_radians(tmp_path: Path):
    config = jaws(tmp_path, HINGE, TURNS)
    gripper = config.scene.robot.gripper
    assert (gripper.open, gripper.closed, gripper.unit) == (
        pytest.approx(0.5, abs=1e-3),
        pytest.approx(-0.5, abs=1e-3),
        "rad",
    )
    (state,) = [feature for feature in features_of(twin_of(config), config.observe) if feature.name == "action"]
    assert state.unit.endswith("rad")


@pytest.mark.parametrize(
    ("joint", "drive", "gripper", "words"),
    [
        (SLIDE, OUTWARDS, ", open: -0.02, closed: 0.03", ["wrong way round", "Swap"]),
        (SLIDE, OUTWARDS, ", open: 0.03", ["closed", "is missing", "measured"]),
        (SLIDE, OUTWARDS, ", open: 0.5, closed: 0.4", ["cannot be reached", "settles at -0.02"]),
        (SLIDE, '<motor name="grip" joint="left"/>', "", ["grip", "ctrlrange"]),
        (SLIDE, '<position name="grip" joint="pan" kp="1" ctrlrange="0 1"/>', "", ["does not change the opening"]),
        ('type="ball"', '<motor name="grip" joint="left" ctrlrange="0 1"/>', "", ["slide", "turn"]),
    ],
)
def test_a_gripper_that_cannot_work_is_refused(tmp_path: Path, joint: str, drive: str, gripper: str, words: list[str]):
    with pytest.raises((ModelError, ConfigError)) as error:
        jaws(tmp_path, joint, drive, gripper=gripper)
    assert all(word in str(error.value) for word in words), error.value


def test_a_tool_frame_by_body_and_offset(tmp_path: Path):
    """z points towards the offset, and the fingers move along y."""
    robot = jaws(tmp_path, SLIDE, OUTWARDS).scene.robot
    model = robot.build().compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    axes = data.site(robot.tool_site).xmat.reshape(3, 3)
    np.testing.assert_allclose(axes[:, 2], [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(np.abs(axes[:, 1]), [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(data.site(robot.tool_site).xpos, [0.4, 0, 0.1], atol=1e-6)


def test_limits_and_reach_come_from_the_model_or_the_mapping(tmp_path: Path):
    robot = jaws(tmp_path, SLIDE, OUTWARDS).scene.robot
    assert robot.velocity_limits_rad_s == pytest.approx((2.5, np.pi))  # 5 N·m over 2 N·m·s; the other would be 10 rad/s
    assert robot.reach_m == pytest.approx(0.4, abs=0.01)
    assert robot.arm_actuators == ("pan", "lift_actuator")  # an actuator without a name gets one
    given = jaws(
        tmp_path, SLIDE, OUTWARDS, "    velocity_limits_rad_s: [1, 2]\n    reach_m: 0.3\n    mount_m: [0.1, 0, 0.2]\n"
    )
    robot = given.scene.robot
    assert (robot.velocity_limits_rad_s, robot.reach_m, robot.mount_m) == ((1.0, 2.0), 0.3, (0.1, 0.0, 0.2))
    assert read(given.to_yaml(), Path("/nowhere")).resolved() == given.resolved()


@pytest.mark.parametrize(
    "drive",
    [
        '<motor joint="pan" ctrlrange="-5 5"/>',
        '<velocity joint="pan" kv="3" forcerange="-5 5"/>',
        '<general joint="pan" gainprm="25" biastype="affine" biasprm="3 -50 -5" forcerange="-5 5"/>',
        '<general joint="pan" gear="2" gainprm="12.5" biastype="affine" biasprm="0 -12.5 -1" forcerange="-5 5"/>',
        "",
    ],
    ids=["torque", "velocity", "offset", "gear", "none"],
)
def test_any_drive_of_an_arm_becomes_a_position_servo(tmp_path: Path, drive: str):
    servo = '<position name="pan" joint="pan" kp="50" kv="5" forcerange="-5 5"/>'
    assert servo in JAWS
    mapping = "" if drive else "    torque_limits_nm: [5, 5]\n"
    (tmp_path / "arm.xml").write_text(JAWS.replace(servo, drive).replace("JOINT", SLIDE).replace("DRIVE", OUTWARDS))
    text = JAWS_MAPPING.replace("jaws.xml", "arm.xml").replace("GRIPPER", "").replace("HOME", "[0, 0.5]") + mapping
    robot = read(text, tmp_path).scene.robot
    model = robot.build().compile()
    data = mujoco.MjData(model)
    for joint, actuator, angle in zip(robot.arm_joints, robot.arm_actuators, (0.7, 0.5), strict=True):
        data.joint(joint).qpos, data.actuator(actuator).ctrl = angle, angle
    data.actuator("grip").ctrl = 0.03
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert data.joint("pan").qpos == pytest.approx(0.7, abs=0.01)
    assert robot.torque_limits_nm[0] == pytest.approx(10 if "gear" in drive else 5)


def test_a_joint_without_drive_and_limit_asks_for_one(tmp_path: Path):
    servo = '<position name="pan" joint="pan" kp="50" kv="5" forcerange="-5 5"/>'
    (tmp_path / "jaws.xml").write_text(JAWS.replace(servo, "").replace("JOINT", SLIDE).replace("DRIVE", OUTWARDS))
    with pytest.raises(ModelError, match=r"'pan' has no position servo.*torque_limits_nm"):
        read(JAWS_MAPPING.replace("GRIPPER", "").replace("HOME", "[0, 0.5]"), tmp_path)


def test_explain_says_why_nothing_is_accepted(folder: Path):
    """The tool frame sits a hand's length too far out: the fingers close above the object."""
    config = read(MAPPING.replace("tool_frame: tool", "tool_frame: {body: hand, offset: [0, 0, 0.2]}"), folder)
    cost = estimate(config, 8, workers=1)
    assert cost.accepted_share == 0
    assert sum(cost.rejected.values()) == 8
    assert next(iter(cost.failures)) == "never_reached"
    assert "tool_frame" in cost.hint
    fine = estimate(read(MAPPING, folder), 4, workers=1)
    assert (fine.accepted_share, fine.rejected, fine.failures, fine.hint) == (1, {}, {}, "")

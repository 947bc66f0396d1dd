"""A robot of lerobot's interface behind ours: a real little simulation, loaded as any other is."""

import subprocess
import sys
import time
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.lerobot.conftest import JOINTS
from tests.deploy.lerobot.servo_arm import ServoArm
from twinloop.deploy.lerobot import robot as robot_module
from twinloop.deploy.lerobot.config_file import read_lerobot
from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.lerobot.teleoperator import Teleoperation
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.robots import robot_named
from twinloop.deploy.safety.bounds import bounds_of
from twinloop.errors import ConfigError, RobotError, UsageError

ROOT = Path(__file__).parents[3]
ARM = "tests.deploy.lerobot.servo_arm:ServoArm"


def device(robot: LerobotRobot) -> ServoArm:
    made = robot._device
    assert isinstance(made, ServoArm)
    return made


def test_the_description_has_our_names_and_units_and_every_limit(write):
    with LerobotRobot(str(write(robot={"type": ARM, "config": {"camera": True}}))) as robot:
        about = robot.describe()
        assert (about.robot, about.id, about.lockstep) == ("servo_arm", "lerobot:arm.yaml", False)
        assert about.joints == ("shoulder", "elbow", "gripper")
        assert about.action.unit == "rad; m"
        assert [feature.name for feature in about.observed] == ["observation.state", "observation.images.front"]
        assert about.observed[1].shape == (24, 32, 3)
        bounds = bounds_of(about)  # attributes that the safety filter reads
        np.testing.assert_array_equal(bounds.velocity, [6, 6, 1])
        assert np.isinf(bounds.effort).all()


def test_an_episode_from_home_to_its_end(write):
    with LerobotRobot(
        str(write(robot={"type": ARM, "config": {"camera": True, "start": (60.0, 10.0, 90.0)}}))
    ) as robot:
        about = robot.describe()
        briefing = robot.begin(0)
        assert briefing.instruction == "wave"
        assert briefing.conditions == {"object": "nothing", "light": "dim"}
        check = ReadingCheck(about)
        first = check.see(robot.observe())
        np.testing.assert_allclose(first.features["observation.state"], about.home, atol=0.1)
        goal, last = np.array([0.4, -0.3, 0.07]), first
        for _ in range(12):
            robot.act(goal)
            time.sleep(about.period_s)
            last = check.see(robot.observe())
        np.testing.assert_allclose(last.features["observation.state"], goal, atol=0.02)
        assert last.sequence == 12
        assert last.features["observation.images.front"].dtype == np.uint8
        command = device(robot).commands[-1]
        assert command["shoulder.pos"] == pytest.approx(np.degrees(0.4))
        assert command["elbow.pos"] == pytest.approx(-np.degrees(-0.3 - 0.2))
        assert command["gripper.pos"] == pytest.approx(87.5)
        robot.stop()
        held = device(robot).commands[-1]
        assert held["gripper.pos"] == pytest.approx(87.5)  # as commanded: it may hold something
        assert robot.end().success is None


def test_the_way_home_keeps_to_the_limits(write):
    with LerobotRobot(str(write())) as robot:
        about = robot.describe()
        robot.begin(0)
        arm, joints = device(robot), robot.config.joints
        sent = np.array([[j.line.ours(c[j.key]) for j in joints] for c in arm.commands])
    speed = np.abs(np.diff(sent, axis=0)) / about.period_s
    assert len(sent) > 5
    assert (speed <= about.limits.velocity * 1.001).all()
    assert (np.abs(np.diff(sent, n=2, axis=0)) / about.period_s**2 <= about.limits.acceleration * 1.05).all()
    np.testing.assert_allclose(sent[-1], about.home)
    gaps = [after - before for before, after in pairwise(arm.sent_at)]
    assert min(gaps) > 0.5 * about.period_s


def test_no_command_beyond_the_limits_leaves_it(write):
    with LerobotRobot(str(write())) as robot:
        robot.act(np.array([99.0, -99.0, 5.0]))
        sent = device(robot).commands[-1]
        assert sent["shoulder.pos"] == pytest.approx(np.degrees(1.5))
        assert sent["gripper.pos"] == pytest.approx(100)
        for wrong in ([np.nan, 0, 0], [0, 0], [0, 0, 0, 0]):
            with pytest.raises(RobotError, match="3 finite numbers"):
                robot.act(np.array(wrong, float))


def test_a_lost_connection_is_an_error_and_can_be_reconnected(write):
    robot = LerobotRobot(str(write(robot={"type": ARM, "config": {"lost_after": 40}})))
    robot.connect()
    robot.begin(0)

    def work() -> None:
        for _ in range(60):
            robot.act(np.array(robot.describe().home))
            robot.observe()

    with pytest.raises(RobotError, match=r"lerobot:arm.yaml: .*no status packet. Reconnect to continue"):
        work()
    with pytest.raises(RobotError, match="not connected"):
        robot.observe()
    robot.connect()
    robot.begin(1)
    assert robot.observe().sequence == 0
    robot.close()
    robot.close()


@pytest.mark.parametrize(
    ("config", "complaint"),
    [({"calibrated": False}, "run lerobot-calibrate"), ({"stuck": True}, "shoulder is still away from it")],
)
def test_a_robot_that_cannot_begin_raises_an_error_with_the_reason(write, config, complaint, monkeypatch):
    monkeypatch.setattr(robot_module, "SETTLE_S", 0.1)
    robot = LerobotRobot(str(write(robot={"type": ARM, "config": config})))

    def begin() -> None:
        robot.connect()
        robot.begin(0)

    with pytest.raises(RobotError, match=complaint):
        begin()
    robot.close()


def nearly_closed(observation: dict) -> bool | None:
    """A detector, as a lab might have one."""
    return observation["gripper.pos"] < 60


def says_much(_: dict) -> str:
    return "certainly"


def test_a_custom_detector_gives_the_outcome_or_none(write):
    with LerobotRobot(str(write())) as robot:
        assert robot.end().success is None
    here = "tests.deploy.lerobot.test_robot"
    with LerobotRobot(str(write(outcome=f"{here}:nearly_closed"))) as robot:
        assert robot.end().success is True
    with LerobotRobot(str(write(outcome=f"{here}:says_much"))) as robot, pytest.raises(RobotError, match="'certainly'"):
        robot.end()
    with pytest.raises(ConfigError, match="has no callable nothing"):
        LerobotRobot(str(write(outcome=f"{here}:nothing"))).connect()


def test_a_leader_is_read_in_our_units(write):
    teleoperation = Teleoperation(read_lerobot(write()))
    with pytest.raises(RobotError, match="not connected"):
        teleoperation.lead()
    teleoperation.connect()
    sample = [teleoperation.lead() for _ in range(20)]
    assert [reading.over for reading in sample] == [False] * 19 + [True]
    assert sample[-1].success is True
    assert sample[0].action[0] == pytest.approx(np.radians(10 * np.sin(0.2)))
    assert sample[0].action[2] == pytest.approx(0.08 * 0.05)
    teleoperation.close()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"robot": {"type": "subprocess:Popen", "config": {"args": ["true"]}}}, "has no connect, is_connected"),
        ({"robot": {"type": "os:system"}}, "is not a class"),
        ({"robot": {"type": "os:no_such"}}, "os has no callable no_such"),
        ({"robot": {"type": "no_such_module:Arm"}}, "No module named"),
        ({"robot": {"type": ARM, "config": {"speed": 3}}}, "unexpected keyword argument 'speed'"),
        (
            {"robot": {"type": ARM, "config": 3}},
            r"robot.config: is 3; a mapping .* was expected: settings of the device, for lerobot",
        ),
        ({"robot": {"config": {}}}, "robot.type: is missing"),
        ({"joints": {**JOINTS, "wrist": deepcopy(JOINTS["elbow"])}}, "the robot has no observation wrist.pos"),
        (
            {"joints": {name: JOINTS[name] for name in ("shoulder", "elbow")}},
            "no joint has the key of the observation gripper.pos",
        ),
        ({"workspace_m": [[0, 1]]}, r"workspace_m: is \[\[0, 1\]\]"),
        ({"workspace_m": None}, "there is no default"),
        ({"outcome": "robot"}, "the word human, or module:function was expected"),
        ({"rate": 3}, "did you mean rate_hz"),
        ({"joints": {}}, "has 0 joints"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(write, changes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        LerobotRobot(str(write(**changes))).connect()


@pytest.mark.parametrize("limit", ["position", "velocity", "acceleration", "effort", "home"])
@pytest.mark.parametrize("value", [..., 0, "none", ".inf"])
def test_no_limit_has_a_default(write, limit, value):
    joint = {key: setting for key, setting in JOINTS["shoulder"].items() if key != limit}
    if value is not ...:
        joint[limit] = value
    if (limit, value) == ("home", 0):
        return
    with pytest.raises(ConfigError, match=f"joints.shoulder.{limit}: is"):
        read_lerobot(write(joints={**JOINTS, "shoulder": joint}))


def test_further_readings_of_all_joints_become_features(write):
    also = {
        "velocity": {"key": "{}.vel", "given": "degrees"},
        "effort": {"key": "{}.torque", "given": "as_is", "unit": "N·m"},
    }
    joints = {
        name: {
            **joint,
            "also": {what: {**entry, "key": entry["key"].format(name)} for what, entry in also.items()},
        }
        for name, joint in JOINTS.items()
    }
    config = read_lerobot(write(joints=joints))
    assert config.joints[1].also["velocity"].key == "elbow.vel"
    del joints["gripper"]["also"]
    with pytest.raises(ConfigError, match=r"gripper: has no also.velocity, and shoulder has"):
        read_lerobot(write(joints=joints))


def test_the_example_can_be_read_and_needs_lerobot_to_be_connected_to():
    robot = robot_named(f"lerobot:{ROOT / 'examples' / 'so101.yaml'}")
    assert isinstance(robot, LerobotRobot)
    assert [joint.name for joint in robot.config.joints][-1] == "gripper"
    with pytest.raises(UsageError, match="config file is missing"):
        robot_named("lerobot")
    try:
        import lerobot  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        with pytest.raises(UsageError, match=r"lerobot cannot be imported .* pip install 'lerobot\[feetech\]'"):
            robot.connect()


def test_lerobot_is_not_imported_before_it_is_used():
    script = "import sys, twinloop.deploy.robots; sys.exit('lerobot' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)

"""Laws of the robot interface: a twin and a rehearsal cell behave alike."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from twinloop.deploy.demonstrator import Demonstrator, demonstrate
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.robot import LiveRobot, Reading
from twinloop.deploy.robots import robot_named
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.errors import RobotError, UsageError
from twinloop.observe.features import features_of
from twinloop.observe.sensors import ObserveConfig
from twinloop.twin.twin import Twin


@pytest.fixture(scope="module")
def of_twin() -> TwinRobot:
    robot = TwinRobot()
    robot.connect()
    return robot


@pytest.fixture(params=["twin", "rehearsal"])
def robot(request: pytest.FixtureRequest) -> LiveRobot:
    return request.getfixturevalue({"twin": "of_twin", "rehearsal": "nominal"}[request.param])


def test_readings_have_the_features_of_datasets(robot: LiveRobot, twin: Twin):
    about = robot.describe()
    recorded = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    assert about.robot == twin.robot.name
    assert about.joints == recorded["action"].names
    for feature in (*about.observed, about.action):
        assert feature == recorded[feature.name]
    robot.begin(0)
    reading = robot.observe()
    assert {name: values.shape for name, values in reading.features.items()} == {
        feature.name: feature.shape for feature in about.observed
    }
    assert all(values.dtype == np.float32 for values in reading.features.values())


def test_limits_hold_the_home_and_are_of_the_actions_size(robot: LiveRobot):
    about = robot.describe()
    low, high = about.limits.position.T
    assert ((low <= about.home) & (about.home <= high)).all()
    for name in ("velocity", "acceleration", "effort"):
        assert getattr(about.limits, name).shape == about.action.shape
    assert about.limits.workspace_m.shape == (3, 2)


def test_time_passes_only_with_actions(robot: LiveRobot):
    robot.begin(1)
    home = np.array(robot.describe().home)
    first, again = robot.observe(), robot.observe()
    assert first.sequence == again.sequence == 0
    robot.act(home)
    after = robot.observe()
    assert after.sequence == 1
    assert after.timestamp_s - first.timestamp_s == pytest.approx(robot.describe().period_s)


def test_the_robot_follows_commands_and_stops(robot: LiveRobot):
    robot.begin(1)
    target = np.array(robot.describe().home)
    target[0] += 0.1
    for _ in range(25):
        robot.act(target)
    np.testing.assert_allclose(robot.observe().features["observation.state"], target, atol=2e-3)
    target[0] += 0.5
    for _ in range(4):
        robot.act(target)
    robot.stop()
    for _ in range(8):
        robot.stop()
    still = robot.observe().features["observation.velocity"]
    assert np.abs(still[:-1]).max() < 0.02


@pytest.mark.parametrize("bad", [np.full(8, np.nan), np.zeros(7), np.full(8, np.inf)])
def test_an_invalid_action_is_refused(robot: LiveRobot, bad: np.ndarray):
    robot.begin(0)
    with pytest.raises(RobotError, match="finite numbers were expected"):
        robot.act(bad)
    robot.act(np.array(robot.describe().home))


def test_without_an_episode_there_is_nothing_to_see(robot: LiveRobot):
    robot.begin(0)
    robot.end()
    with pytest.raises(RobotError, match="no episode"):
        robot.observe()


def test_an_untouched_object_is_a_failure(robot: LiveRobot):
    robot.begin(0)
    assert robot.end().success is False


def test_the_expert_succeeds_from_readings_alone(robot: LiveRobot):
    demonstrator = Demonstrator(robot.describe(), seed=0)
    demonstrations = [demonstrate(robot, demonstrator, episode) for episode in range(2)]
    assert [demonstration.outcome.success for demonstration in demonstrations] == [True, True]
    assert demonstrations[0].briefing.conditions["object"] == "cube"


def test_a_policy_of_the_twin_fits_the_cell(of_twin: TwinRobot, nominal: RehearsalRobot):
    assert not of_twin.describe().space().differences(nominal.describe().space())
    turned = ("observation.environment_state", "observation.state")
    assert tuple(feature.name for feature in nominal.describe().space(turned).inputs) == turned


def test_invalid_readings_are_refused(of_twin: TwinRobot):
    about = of_twin.describe()
    of_twin.begin(0)
    good = of_twin.observe()
    check = ReadingCheck(about)
    check.see(good)
    state = good.features["observation.state"]
    for change, text in (
        ({"observation.state": state[:-1]}, "has 7 elements; 8 were expected"),
        ({"observation.state": np.where(np.arange(8) == 2, np.nan, state)}, "joint3 is not finite"),
    ):
        with pytest.raises(RobotError, match=text):
            check.see(dataclasses.replace(good, features={**good.features, **change}))
    with pytest.raises(RobotError, match="clock jumped"):
        check.see(Reading(1, good.timestamp_s + 3600, good.features))
    with pytest.raises(RobotError, match="clock jumped"):
        check.see(Reading(1, good.timestamp_s - 1, good.features))
    check.see(Reading(1, good.timestamp_s + about.period_s, good.features))


def test_names_of_robots():
    assert isinstance(robot_named("rehearsal:harsh"), RehearsalRobot)
    with pytest.raises(UsageError, match="did you mean rehearsal"):
        robot_named("rehersal:harsh")


def test_a_twin_with_sensor_errors_reports_noisy_readings(tmp_path: Path):
    path = tmp_path / "cell.yaml"
    path.write_text("randomization:\n  sensing:\n    encoder_bias_mrad: [20, 20]\n")
    with TwinRobot(str(path)) as robot:
        robot.begin(0)
        off = robot.observe().features["observation.state"] - np.array(robot.describe().home)
    assert 1e-3 < np.abs(off[:-1]).max() < 21e-3

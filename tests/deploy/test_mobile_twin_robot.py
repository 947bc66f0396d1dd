"""The twin of a robot with legs or wheels as a live robot, and the limits of a robot that is commanded speeds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.deploy.mobile_twin_robot import MobileTwinRobot
from twinloop.deploy.robots import robot_named
from twinloop.deploy.safety.bounds import bounds_of, slowed
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.errors import RobotError

DRIVE = "scene: {robot: diff_drive, lidar_rays: 16}\nrandomization: {environment: {room_size_m: [4, 5]}}\n"
WALK = "scene: {robot: quadruped}\nenvironment: {time_limit_s: 1}\n"


def named(tmp_path: Path, text: str) -> MobileTwinRobot:
    file = tmp_path / "cell.yaml"
    file.write_text(text)
    robot = robot_named(f"twin:{file}")
    assert isinstance(robot, MobileTwinRobot)
    return robot


def test_the_same_episode_twice_has_the_same_readings(tmp_path: Path):
    with named(tmp_path, DRIVE) as robot:
        seen = []
        for _ in range(2):
            robot.begin(3)
            for _ in range(5):
                robot.act(np.array([0.2, 0.1]))
            seen.append(robot.observe().features)
        assert set(seen[0]) == {feature.name for feature in robot.describe().observed}
        for name, values in seen[0].items():
            np.testing.assert_array_equal(values, seen[1][name])


def test_a_robot_that_falls_ends_the_episode_with_a_name(tmp_path: Path):
    with named(tmp_path, WALK) as robot:
        robot.begin(0)
        _, highest = robot.describe().limits.position.T
        for _ in range(200):
            robot.act(highest)
            if robot.observe().over:
                break
        assert robot.observe().over
        outcome = robot.end()
        assert not outcome.success
        assert outcome.failure in ("fell", "collided", "tripped", "slipped")


def test_a_robot_that_stands_reaches_the_time_limit(tmp_path: Path):
    with named(tmp_path, WALK) as robot:
        about, periods = robot.describe(), 0
        robot.begin(0)
        while not robot.observe().over:
            robot.act(np.array(about.home))
            periods += 1
        assert periods == about.rate_hz  # one second


def test_stop_brakes_the_wheels(tmp_path: Path):
    with named(tmp_path, DRIVE) as robot:
        robot.begin(0)
        for _ in range(10):
            robot.act(np.array([0.3, 0.0]))
        moving = abs(float(robot.observe().features["observation.speed"][0]))
        for _ in range(10):
            robot.stop()
        assert moving > 0.1
        assert abs(float(robot.observe().features["observation.speed"][0])) < 0.2 * moving


@pytest.mark.parametrize("action", [np.zeros(3), np.array([np.nan, 0.0])])
def test_an_invalid_action_is_refused(tmp_path: Path, action: np.ndarray):
    with named(tmp_path, DRIVE) as robot:
        with pytest.raises(RobotError, match="no episode has begun"):
            robot.act(np.zeros(2))
        robot.begin(0)
        with pytest.raises(RobotError, match="2 finite numbers"):
            robot.act(action)


def test_without_an_action_a_robot_that_is_commanded_speeds_stops(tmp_path: Path):
    with named(tmp_path, DRIVE) as robot:
        about = robot.describe()
        safety = SafetyFilter(about, bounds_of(about), None)
        safety.begin(np.array([5.0, -3.0]))  # angles of the wheels, which are no commands
        fast = safety.pass_on(np.array([0.4, 0.5])).command
        np.testing.assert_allclose(fast, [0.4, 0.5])
        np.testing.assert_allclose(safety.pass_on(None).command, 0, atol=1e-9)
        # A robot that is commanded positions stays where it is.
        positions = replace(about, commands="positions")
        holding = SafetyFilter(positions, bounds_of(positions), None)
        holding.begin(np.array([0.4, 0.5]))
        np.testing.assert_allclose(holding.pass_on(None).command, [0.4, 0.5])


def test_a_lower_speed_limits_commanded_speeds(tmp_path: Path):
    with named(tmp_path, DRIVE) as robot:
        about = robot.describe()
        slow = slowed(bounds_of(about), 0.3)
        safety = SafetyFilter(about, slow, None)
        safety.begin(np.zeros(2))
        filtered = safety.pass_on(about.limits.position[:, 1])
        np.testing.assert_allclose(filtered.command, 0.3 * about.limits.position[:, 1])
        assert filtered.reasons == ("position",)


def test_a_lower_speed_reduces_what_a_robot_with_legs_is_asked_for(tmp_path: Path):
    asked = "commands: {forward_m_s: 0.8, sideways_m_s: 0.2, turn_rad_s: 0.5, standing_share: 0}\n"
    with named(tmp_path, WALK + asked) as robot:
        about = robot.describe()
        robot.begin(0)
        reading = robot.observe()
        safety = SafetyFilter(about, slowed(slowed(bounds_of(about), 0.5), 0.5), None)
        seen = safety.slowed(reading).features["observation.command"]
        np.testing.assert_allclose(seen[:3], [0.2, 0.05, 0.125], rtol=1e-6)
        np.testing.assert_array_equal(seen[3:], reading.features["observation.command"][3:])  # the clock of the gait
        assert reading.features["observation.command"][0] == pytest.approx(0.8)
        with pytest.raises(RobotError, match="asked"):
            SafetyFilter(replace(about, asked=("observation.command.up",)), bounds_of(about), None)

"""EpisodeTracker: an episode ends when the success detector has seen the task done for a while, if there is one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import need_physx
from tests.deploy.scripted_robot import ScriptedRobot
from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.episode_tracker import EpisodeTracker
from twinloop.deploy.rehearsal.client import RehearsalRobot, scene_seen_by_a_person
from twinloop.deploy.robot import Description
from twinloop.simulate.termination import SETTLED_S
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

LASTING = 10  # periods of SETTLED_S at 25 Hz
DONE = np.array([0.5, 0.2, 0.02, 1, 0, 0, 0, 0.5, 0.2, 0.0, 1, 0, 0, 0], np.float32)
"""Tracked poses of a cube on its goal."""


def ends_after(about: Description, robot: ScriptedRobot, achieved: Sequence[bool | None], *, done: bool) -> int | None:
    """The period in which the tracker ends an episode with these detections; None if it does not.

    Args:
        done: the tracked scene looks as if the task were done.
    """
    tracker = EpisodeTracker(about, PICK_AND_PLACE)
    tracker.begin(robot.begin(0))
    for period, seen in enumerate(achieved):
        reading = replace(robot.observe(), achieved=seen)
        if done and "observation.environment_state" in reading.features:
            reading = replace(reading, features={**reading.features, "observation.environment_state": DONE})
        if tracker.look(reading, np.array(about.home)):
            return period
    return None


@pytest.fixture
def robot(twin: Twin) -> ScriptedRobot:
    return ScriptedRobot(twin)


def test_success_that_the_detector_sees_for_a_while_ends_the_episode(robot: ScriptedRobot):
    about = robot.connect()
    assert round(SETTLED_S * about.rate_hz) == LASTING
    assert ends_after(about, robot, [False] * 5 + [True] * 30, done=False) == 5 + LASTING
    interrupted = [True] * LASTING + [False] + [True] * LASTING
    assert ends_after(about, robot, interrupted, done=False) is None


def test_readings_that_look_like_success_end_an_episode_only_without_a_detector(robot: ScriptedRobot):
    about = robot.connect()
    assert ends_after(about, robot, [None] * 40, done=True) == LASTING
    assert ends_after(about, robot, [False] * 40, done=True) is None


def test_a_detector_ends_episodes_of_a_robot_without_a_model(robot: ScriptedRobot):
    about = replace(robot.connect(), id="unknown arm", robot="unknown arm")
    assert not EpisodeTracker(about, PICK_AND_PLACE).sees
    assert ends_after(about, robot, [True] * 40, done=False) == LASTING
    assert ends_after(about, robot, [None] * 40, done=True) is None


def test_a_cell_whose_tracker_is_off_still_detects_success(tmp_path: Path):
    """By its readings alone, the plug never gets into the socket."""
    need_physx()
    (tmp_path / "off.yaml").write_text("task: plug_in\nsensing: {tracker_bias_mm: 12}\n")
    task = tasks()["plug_in"]
    with RehearsalRobot(f"physx:{tmp_path / 'off.yaml'}") as cell:
        about, briefing = cell.describe(), cell.begin(0)
        expert = Demonstrator(about, seed=0, task=task)
        trackers = [EpisodeTracker(about, task) for _ in range(2)]
        expert.begin(briefing, 0)
        for tracker in trackers:
            tracker.begin(briefing)
        command, overs, period = None, [False, False], 0
        while not overs[0] and period < 300:
            reading = cell.observe()
            blind = replace(reading, achieved=None)
            overs = [tracker.look(seen, command) for tracker, seen in zip(trackers, (reading, blind), strict=True)]
            command = expert.act(scene_seen_by_a_person(cell)).command
            cell.act(command)
            period += 1
        assert overs == [True, False]
        assert cell.end().success

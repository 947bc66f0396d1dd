"""Two arms on a robot: rehearsal cells, the estimate from readings, the phase of an episode, scripted collecting."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import need_drake
from twinloop.dataset import Dataset
from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.description import description_of
from twinloop.deploy.episode_tracker import EpisodeTracker
from twinloop.deploy.rehearsal.cell_scene import scene_of
from twinloop.deploy.robot_model import usual_robot
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.errors import RobotError, UsageError
from twinloop.observe.estimate import NEEDED, derived, estimated, things_in_estimate
from twinloop.observe.features import features_of, observe
from twinloop.observe.sensors import ObserveConfig
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.tasks import tasks

PAIR = "scene: {robots: {left: franka_panda, right: xarm7}, task: hand_to_hand}\n"


def test_a_pair_of_robots_from_a_config_is_collected_on_until_its_task_is_done(tmp_path: Path):
    need_drake()
    config = tmp_path / "pair.yaml"
    config.write_text(PAIR)
    done = collect(
        f"rehearsal:nominal,config={config}", tmp_path / "log", episodes=1, task=tasks()["hand_to_hand"],
        config=CollectConfig(imperfection=None), stop_file=tmp_path / "stop",
    )  # fmt: skip
    assert done.succeeded == 1
    log = Dataset.open(done.path)
    (row,) = log.attempts().to_pylist()
    assert row["last_phase"] in tasks()["hand_to_hand"].phase_names[-4:]
    assert log.header.feature("action").names[-2:] == ("left.gripper", "right.gripper")


@pytest.mark.parametrize("task", ["lift_tray", "hand_to_hand"])
def test_the_tracker_ends_an_episode_when_its_task_is_done(task: str, tmp_path: Path):
    """The expert moves both arms. The tracker has readings only."""
    (tmp_path / "cell.yaml").write_text(f"scene: {{robot: dual_panda, task: {task}}}\n")
    with TwinRobot(str(tmp_path / "cell.yaml")) as robot:
        about, briefing = robot.describe(), robot.begin(0)
        expert, tracker = Demonstrator(about, seed=0, task=tasks()[task]), EpisodeTracker(about, tasks()[task])
        assert tracker.sees
        expert.begin(briefing, 0)
        tracker.begin(briefing)
        command, phases, over = None, [], False
        while not over and len(phases) < tasks()[task].longest_s * about.rate_hz:
            reading = replace(robot.observe(), achieved=None)  # a robot without a success detector
            over = tracker.look(reading, command)
            phases.append(tracker.phase)
            command = expert.act(reading).command
            robot.act(command)
        assert over
        assert robot.end().success
    assert phases == sorted(phases)
    assert len(set(phases)) > 3


def test_the_estimate_names_the_hand_that_holds_each_thing():
    config = config_from_text(PAIR.replace("xarm7", "franka_panda"), name="cell.yaml", folder=Path())
    twin = twin_of(config)
    expert = Expert(twin, config.expert, width=2, seed=5)
    (episodes,) = rollout(Cell(twin, width=2), iter([config.sampler(seed=5).draw(0, 2)]), expert, seed=5)
    assert episodes.success.all()
    frames = observe(episodes, twin, ObserveConfig(), seed=0).frames
    features = {feature.name: feature for feature in features_of(twin, ObserveConfig())}
    feature = derived(features, "dual_panda")
    assert feature is not None
    vectors = estimated(frames, frames["command"], episodes.lengths, twin, things=things_in_estimate(feature))
    assert vectors.shape[1] == len(feature.names)
    column = {name: vectors[:, feature.names.index(name)] > 0.5 for name in ("left.holds", "right.holds")}
    for start, length in zip(episodes.starts, episodes.lengths, strict=True):
        left, right = (np.flatnonzero(held[start : start + length]) for held in column.values())
        # First the left hand holds the bar, then the right hand, without a moment between them.
        assert left[0] < right[0] <= left[-1] + 1 < right[-1]
    bar = slice(16, 19)
    error_m = np.linalg.norm(vectors[:, bar] - episodes["environment"][:, :3], axis=1)
    # A bar in motion is where its commands lead it, and not yet where it is.
    assert np.median(error_m) < 0.006
    assert error_m.max() < 0.04
    assert derived({name: features[name] for name in NEEDED[:2]}, "dual_panda") is None


def test_a_cell_without_a_robot_in_its_name_has_one_with_the_arms_of_the_task():
    assert [usual_robot(tasks()[name]) for name in ("stack", "lift_tray")] == ["franka_panda", "dual_panda"]


def test_a_task_for_other_arms_is_refused_before_anything_is_built():
    with pytest.raises(UsageError, match=r"cell\.yaml: pick_and_place is for one arm; dual_panda has 2"):
        scene_of({"robot": "dual_panda"}, where="cell.yaml")
    with pytest.raises(UsageError, match=r"lift_tray needs the arms left and right"):
        scene_of({"task": "lift_tray"}, where="cell.yaml")
    twin = twin_of(config_from_text(PAIR, name="cell.yaml", folder=Path()))
    with pytest.raises(RobotError, match="no scripted demonstrator"):
        Demonstrator(description_of(twin, id="pair", lockstep=True), seed=0, task=twin.task)

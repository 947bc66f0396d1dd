"""Real trials once more in the twin: where they were laid out, and as they ended if the robot was the twin itself."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Simulate
from tests.deploy.neighbour_policy import PROGRAM
from tests.forked_servers import forked_servers
from tests.learn.neighbours import Neighbours
from tests.short_episodes import short_episodes
from twinloop.dataset import Dataset
from twinloop.deploy.session import deploy
from twinloop.errors import UsageError
from twinloop.gate.repeat import Logged, logged_trials, repeat
from twinloop.gate.repeats import Repeats, trial_names, unlike_scenes
from twinloop.gate.runlog_evidence import RunlogEvidence, load_runlog
from twinloop.learn.candidate import Candidate
from twinloop.randomize.draw import Sampler
from twinloop.run.config import RunConfig, config_from_text, load_config
from twinloop.twin.twin import Twin

# Wider than the demonstrations, so that some fail, depending on the position.
CELL = """
randomization:
  physics: {object_mass_kg: [0.05, 0.4], object_position_noise_cm: [-5, 5]}
rollout: {parallel_envs: 64}
"""
COUNT = 6


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    """The expert needs less."""
    with short_episodes("pick_and_place", 6.5), forked_servers():
        yield


@pytest.fixture(scope="module")
def place(simulate: Simulate, twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repeats")
    replace(Neighbours.of(simulate(15), twin), executed=8).save(folder / "neighbours.npz")
    (folder / "cell.yaml").write_text(CELL)
    return folder


@pytest.fixture(scope="module")
def candidate(place: Path) -> Candidate:
    path = place / "neighbours.npz"
    return Candidate("neighbours", "0" * 64, "neighbours", Neighbours.load(path).space, partial(Neighbours.load, path))


@pytest.fixture(scope="module")
def config(place: Path) -> RunConfig:
    return load_config(place / "cell.yaml").with_seed(1_000_001)


@pytest.fixture(scope="module")
def log(place: Path) -> RunlogEvidence:
    policies, robot = {"": place / "neighbours.npz"}, f"twin:{place / 'cell.yaml'}"
    deploy(policies, robot, place / "log", episodes=COUNT, program=PROGRAM, stop_file=place / "stop")
    return load_runlog(place / "log")


@pytest.fixture(scope="module")
def logged(log: RunlogEvidence) -> list[Logged]:
    return logged_trials([log], log.episodes)


@pytest.fixture(scope="module")
def repeats(candidate: Candidate, config: RunConfig, logged: list[Logged]) -> Repeats:
    return repeat(candidate, config, logged, config_name="cell")


def test_a_repeat_begins_where_its_trial_did(repeats: Repeats, config: RunConfig, log: RunlogEvidence):
    drawn = Sampler(config.randomization, seed=0).draw(0, COUNT).values
    placed = np.array([trial.layout for trial in repeats.trials])
    at = np.column_stack([drawn["object_position_noise_cm.x"], drawn["object_position_noise_cm.y"]]) / 100
    np.testing.assert_allclose(placed[:, :2], at + np.array([0.46, -0.13]), atol=1e-4)
    np.testing.assert_allclose(placed[:, 3:], [(0.52, 0.17)] * COUNT, atol=1e-4)
    assert [trial.trial for trial in repeats.trials] == trial_names(log.episodes)
    first = Dataset.open(log.path).episode(attempt=3)["observation.environment_state"][0]
    np.testing.assert_allclose(placed[3, :2], first[:2], atol=1e-4)


def test_the_twin_predicts_itself(repeats: Repeats, log: RunlogEvidence):
    predicted = np.array([trial.success for trial in repeats.trials])
    real = log.episodes.managed
    assert 0 < real.sum() < COUNT
    # The mass is drawn again; the outcome depends on the object's position.
    assert (predicted == real).sum() >= COUNT - 1
    assert unlike_scenes(repeats, repeats.trials) == ""


def test_repeats_are_continued_and_the_same_alone_or_together(
    candidate: Candidate, config: RunConfig, logged: list[Logged], repeats: Repeats
):
    some = repeat(candidate, config, logged[:3], config_name="cell")
    assert some.trials == repeats.trials[:3]
    whole = repeat(candidate, config, logged, config_name="cell", known=some)
    assert whole == repeats
    assert repeat(candidate, config, logged, config_name="cell", known=whole) == whole


def test_scenes_that_the_twin_cannot_reproduce_are_skipped_with_a_reason(
    candidate: Candidate, config: RunConfig, logged: list[Logged]
):
    scene = logged[0].scene
    assert scene is not None
    far, goal = scene.copy(), scene.copy()
    far[0] += 0.5
    goal[8] -= 0.4
    given = [
        replace(logged[0], trial="far", scene=far), replace(logged[0], trial="goal", scene=goal),
        replace(logged[0], trial="mug", object="mug"), replace(logged[0], trial="what", object=""),
        replace(logged[0], trial="blind", scene=None, why="the log has no poses"), logged[1],
        replace(logged[0], trial="can", object="can"),
    ]  # fmt: skip
    result = repeat(candidate, config, given, config_name="cell").trials
    assert [trial.trial for trial in result] == [trial.trial for trial in given]
    words = ("object_position_noise_cm.x would be", "target_position_noise_cm.y", "no object 'mug'",
             "not name the object", "has no poses")  # fmt: skip
    for trial, word in zip(result, words, strict=False):
        assert trial.success is None
        assert word in trial.why
    assert [trial.success is None for trial in result[5:]] == [False, False]
    assert result[6].object == "can"


def test_scenes_of_another_cell_are_seen_to_differ(candidate: Candidate, logged: list[Logged]):
    text = CELL.replace("[-5, 5]", "[8, 12]")
    elsewhere = config_from_text(text, name="cell.yaml", folder=Path()).with_seed(1_000_001)
    result = repeat(candidate, elsewhere, logged[:6], config_name="other")
    assert "object_x_m" in unlike_scenes(result, result.trials)


def test_a_task_with_another_scene_layout_is_refused(candidate: Candidate, logged: list[Logged]):
    config = config_from_text("scene: {task: handover}\n", name="cell.yaml", folder=Path())
    with pytest.raises(UsageError, match=r"handover.*cannot be repeated"):
        repeat(candidate, config, logged, config_name="cell")

"""Value of episodes: those that agree with the target score higher, and training uses the weights."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.learn.demonstrated import FEATURES, reaching
from twinloop.errors import UsageError
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.episode_weights import EpisodeWeights, read_episode_weights, table_of_scores, weighted
from twinloop.learn.mixture import Mixture
from twinloop.learn.optimise import TrainConfig
from twinloop.learn.space import DEFAULT_INPUTS
from twinloop.learn.train import train
from twinloop.learn.training_job import TrainingJobConfig, prepare
from twinloop.learn.value import ValueConfig, aligned
from twinloop.learn.value_datasets import value_datasets

SETTINGS = {"width": 48, "depth": 1, "horizon": 4, "executed": 2}


@pytest.fixture(scope="module")
def cell(tmp_path_factory) -> dict[str, Path]:
    """A dataset whose demonstrator reaches the goal, one whose demonstrator misses it, and a policy of both."""
    folder = tmp_path_factory.mktemp("value")
    data = {
        "right": reaching(folder / "right", episodes=32, seed=1, gain=0.05),
        "wrong": reaching(folder / "wrong", episodes=32, seed=2, gain=0.05, offset=0.8),
        "target": reaching(folder / "target", episodes=12, seed=9, gain=0.05),
    }
    config = TrainingJobConfig(
        datasets=(data["right"], data["wrong"]),
        settings=SETTINGS,
        train=TrainConfig(steps=200, batch=128, learning_rate=3e-3),
    )
    train(prepare(config), folder / "policy")
    return data | {"policy": folder / "policy"}


@pytest.fixture(scope="module")
def table(cell) -> EpisodeWeights:
    table, valuation = value_datasets(
        [cell["right"], cell["wrong"]], cell["policy"], [cell["target"]], keep=0.5, config=ValueConfig(size=512)
    )
    assert valuation.agreement > 0.5
    assert not valuation.is_noise
    return table


def test_the_best_half_is_the_half_that_does_as_the_target_does(table: EpisodeWeights):
    right, wrong = (np.array(entry.weights) for entry in table.datasets)
    assert right.mean() > 0.7
    assert wrong.mean() < 0.3


def test_a_table_survives_its_file_and_refuses_a_changed_one(table: EpisodeWeights, tmp_path: Path):
    file = tmp_path / "weights.json"
    table.write(file)
    assert read_episode_weights(file) == table
    content = json.loads(file.read_text())
    content["datasets"][0]["weights"][0] = 7.0
    file.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="was altered"):
        read_episode_weights(file)
    with pytest.raises(UsageError, match=r"missing\.json: is not a file; `twinloop value` writes one"):
        read_episode_weights(tmp_path / "missing.json")


def test_a_training_uses_the_kept_episodes_only_and_its_card_names_the_weights(cell, table, tmp_path):
    table.write(tmp_path / "weights.json")
    config = TrainingJobConfig(
        datasets=(cell["right"],), settings=SETTINGS, train=TrainConfig(steps=5, batch=32),
        weights=tmp_path / "weights.json",
    )  # fmt: skip
    job = prepare(config)
    entry = table.datasets[0]
    kept = {attempt for attempt, weight in zip(entry.attempts, entry.weights, strict=True) if weight}
    assert set(job.parts[0].attempts.tolist()) == kept
    assert job.digest != prepare(replace(config, weights=None)).digest
    card = train(job, tmp_path / "policy").checkpoint.card
    assert card.data[0]["episode_weights"] == table.digest
    assert card.data[0]["episodes"] == len(kept)


def test_frames_are_drawn_as_often_as_their_episode_weighs(cell):
    part = load_demonstrations(cell["right"], DEFAULT_INPUTS).take(np.arange(3))
    part = replace(part, tasks=("a", "b", "c"))
    mixture = Mixture([part], [1.0], None, [np.array([1.0, 0.0, 3.0])])
    drawn = [task for step in range(40) for task in mixture.batch(100, 1, seed=0, step=step).tasks]
    shares = np.array([1.0, 0.0, 3.0]) * part.lengths
    for task, share in zip("abc", shares / shares.sum(), strict=True):
        assert drawn.count(task) / len(drawn) == pytest.approx(share, abs=0.03)


def test_weights_of_another_dataset_or_of_none_are_refused(cell, table):
    other = load_demonstrations(cell["target"], DEFAULT_INPUTS)
    with pytest.raises(UsageError, match=r"has no weights for target .*only for right .*wrong"):
        weighted([other], table, where="weights.json")
    right = load_demonstrations(cell["right"], DEFAULT_INPUTS)
    nothing = replace(table, datasets=(replace(table.datasets[0], weights=(0.0,) * 32),))
    with pytest.raises(UsageError, match=r"weights of all 32 episodes of right are 0; raise --keep"):
        weighted([right], nothing, where="weights.json")
    first = replace(table.datasets[0], attempts=tuple(range(100, 132)))
    with pytest.raises(UsageError, match="has no weight for 32 episodes of right, such as attempt 0"):
        weighted([right], replace(table, datasets=(first,)), where="weights.json")


def test_a_target_that_is_too_small_or_of_another_robot_is_refused(cell, tmp_path):
    few = reaching(tmp_path / "few", episodes=2, seed=4)
    with pytest.raises(UsageError, match="the target has 2 accepted episodes; 4 or more are needed"):
        value_datasets([cell["right"]], cell["policy"], [few], keep=0.5)
    names = replace(FEATURES[0], names=("hip", "knee"))
    other = reaching(tmp_path / "other", episodes=6, features=(names, *FEATURES[1:]))
    with pytest.raises(UsageError, match="other does not fit the policy"):
        value_datasets([cell["right"]], cell["policy"], [other], keep=0.5)
    with pytest.raises(UsageError, match="keep: 0 was given"):
        value_datasets([cell["right"]], cell["policy"], [cell["target"]], keep=0)


def test_scores_of_unrelated_gradients_are_called_noise():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 256))
    _, agreement = aligned(noise, rng.normal(size=(10, 256)), seed=0)
    assert abs(agreement) < 0.3
    shared = rng.normal(size=256)
    _, agreement = aligned(noise + rng.normal(size=(200, 1)) * shared, 5 * shared + noise[:10], seed=0)
    assert agreement > 0.8
    with pytest.raises(UsageError, match="no gradient"):
        aligned(np.zeros((4, 8)), np.zeros((4, 8)), seed=0)


def test_keep_chooses_over_all_datasets_together(cell):
    parts = [load_demonstrations(cell[name], DEFAULT_INPUTS) for name in ("right", "wrong")]
    scores = [np.arange(32.0), np.arange(32.0) + 100]
    table = table_of_scores(parts, scores, keep=0.25, method="", policy="", target=(), settings={})
    assert sum(table.datasets[0].weights) == 0
    assert np.flatnonzero(table.datasets[1].weights).tolist() == list(range(16, 32))

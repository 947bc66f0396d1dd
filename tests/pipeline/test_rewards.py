"""Rewards of frames: sparse by default, or dense by the task's progress; batches of transitions have them."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.api.generating import generate
from twinloop.dataset import Dataset
from twinloop.run.config import config_from_text

TEXT = "scene: {task: push_to_goal}\nrollout: {parallel_envs: 4, episodes_per_env: 1}\n"


def made(folder: Path, text: str) -> Dataset:
    file = folder / "cell.yaml"
    file.write_text(text)
    return generate(file, folder / "dataset", workers=1)


def rewards(dataset: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    batches = list(dataset.transitions(64, seed=0, shuffle=False))
    return (
        np.concatenate([batch.reward for batch in batches]),
        np.concatenate([batch.success for batch in batches]),
        np.concatenate([batch.terminal for batch in batches]),
    )


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("sparse"), TEXT)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("dense"), TEXT + "observe: {reward: dense}\n")


def test_a_sparse_reward_is_one_where_the_task_is_done(sparse: Dataset):
    reward, success, terminal = rewards(sparse)
    np.testing.assert_array_equal(reward, success.astype(np.float32))
    assert 0 < reward.mean() < 1
    assert success[terminal].all(), "accepted episodes end with success"


def test_a_dense_reward_grows_towards_one(sparse: Dataset, dense: Dataset):
    reward, success, terminal = rewards(dense)
    assert ((reward >= 0) & (reward <= 1)).all()
    assert len(np.unique(reward)) > 50
    np.testing.assert_array_equal(reward == 1, success)
    starts = np.append(0, np.flatnonzero(terminal)[:-1] + 1)
    assert (reward[starts] < reward[terminal]).all()
    other, _, _ = rewards(sparse)
    assert len(other) == len(reward), "the reward changes nothing else"


def test_arrow_batches_have_the_rewards(dense: Dataset):
    batch = next(iter(dense.transitions(8, seed=0, as_="arrow")))
    assert {"next.reward", "next.success", "terminal"} <= set(batch.schema.names)


def test_the_reward_is_part_of_the_digest_and_its_default_is_not_written():
    plain, same, other = (
        config_from_text(TEXT + text, name="cell.yaml", folder=Path())
        for text in ("", "observe: {reward: sparse}", "observe: {reward: dense}")
    )
    assert plain.digest == same.digest != other.digest
    assert "reward" not in plain.resolved()["observe"]
    assert other.resolved()["observe"]["reward"] == "dense"

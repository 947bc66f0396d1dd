"""Laws of sharded rollouts: weights do not depend on where, in which order and how often a shard is simulated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.environments.cells import config_of
from twinloop.environments.make import vector_env
from twinloop.errors import UsageError
from twinloop.fleet.executor import Work
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce import shards
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.learn.reinforce.shards import joined_state, shard_bounds, split_state
from twinloop.learn.reinforce.start import reinforce

SMALL = ReinforceConfig(
    iterations=3, num_envs=5, shards=2, steps=6, width=16, depth=1, save_every=1, epochs=2, mini_batches=2
)
SHORT = "{time_limit_s: 0.32}"
LEVELS = "{time_limit_s: 0.32, curriculum: {rising: 0.5}}"


@dataclass
class Reversed:
    """Runs the last item first, each in a worker that has no environments yet, and some of them twice."""

    name: str = "reversed"
    counts: list[int] = field(default_factory=list)

    def capacity(self) -> int:
        return 2

    def sent(self, job: Any) -> Any:
        return job

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        self.counts.append(workers)
        for item in reversed(list(items)):
            shards._KEPT.clear()
            if item == 0:
                list(work(job, iter([item])))
            yield from work(job, iter([item]))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("policies") / "whole"
    reinforce(config_of(SHORT), out, SMALL, threads=1, workers=1)
    return out


def test_weights_do_not_depend_on_the_order_or_on_what_a_worker_has_kept(trained: Path, tmp_path: Path):
    executor = Reversed()
    result = reinforce(config_of(SHORT), tmp_path / "reversed", SMALL, threads=1, executor=executor)
    assert result.checkpoint.card.weights == load(trained).card.weights
    assert executor.counts == [2] * SMALL.iterations


def test_weights_do_not_depend_on_the_number_of_processes(trained: Path, tmp_path: Path):
    few = replace(SMALL, iterations=1)
    one = reinforce(config_of(SHORT), tmp_path / "one", few, threads=1, workers=1)
    two = reinforce(config_of(SHORT), tmp_path / "two", few, threads=1, workers=2)
    assert one.checkpoint.card.weights == two.checkpoint.card.weights != load(trained).card.weights


def test_a_killed_training_continues_to_the_same_weights(tmp_path: Path):
    class Killed(Exception):
        pass

    def kill(record: IterationRecord) -> None:
        if record.iteration == 2:
            raise Killed

    whole = reinforce(config_of(LEVELS), tmp_path / "whole", SMALL, threads=1, workers=1)
    with pytest.raises(Killed):
        reinforce(config_of(LEVELS), tmp_path / "killed", SMALL, threads=1, workers=1, on_iteration=kill)
    result = reinforce(config_of(LEVELS), tmp_path / "killed", SMALL, threads=1, workers=1)
    assert result.resumed_from == 1
    assert result.checkpoint.card.weights == whole.checkpoint.card.weights
    assert result.curve == whole.curve


def test_shards_run_the_episodes_of_all_environments():
    config = config_of(SHORT)
    whole = vector_env(config, num_envs=5, seed=3, threads=1)
    parts = [
        vector_env(config, num_envs=stop - first, seed=3, threads=1, first=first, total=5)
        for first, stop in shard_bounds(5, 2)
    ]
    actions = np.random.default_rng(0).uniform(-1, 1, (12, 5, whole.robot.action.shape[0])).astype(np.float32)
    for env in (whole, *parts):
        env.stagger()
        env.reset()
    for action in actions:
        seen, rewards, *_ = whole.step(action)
        edges = shard_bounds(5, 2)
        steps = [env.step(action[first:stop]) for env, (first, stop) in zip(parts, edges, strict=True)]
        np.testing.assert_array_equal(seen, np.concatenate([step[0] for step in steps]))
        np.testing.assert_array_equal(rewards, np.concatenate([step[1] for step in steps]))
        np.testing.assert_array_equal(whole.episode, np.concatenate([env.episode for env in parts]))
    state, joined = whole.state(), joined_state([env.state() for env in parts])
    for name, values in state.items():
        np.testing.assert_array_equal(values, joined[name])


def test_states_are_split_and_joined_again():
    env = vector_env(config_of(LEVELS), num_envs=5, seed=0, threads=1)
    env.reset()
    for _ in range(3):
        env.step(np.zeros((5, env.robot.action.shape[0]), np.float32))
    state = env.state()
    joined = joined_state(split_state(state, shard_bounds(5, 3)))
    assert joined.keys() == state.keys()
    for name, values in state.items():
        np.testing.assert_array_equal(values, joined[name])


def test_the_number_of_shards_belongs_to_a_training(trained: Path):
    with pytest.raises(UsageError, match="was started with --shards 2; you gave 3"):
        reinforce(config_of(SHORT), trained, replace(SMALL, shards=3), threads=1, workers=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "sac"}, "--shards 2: sac simulates in one process"),
        ({"widen": True}, "--shards 2: --widen decides"),
        ({"shards": 9}, "--shards 9: a number from 1 to the number of environments, 5, was expected"),
    ],
)
def test_shards_that_cannot_be_are_refused(changes: dict[str, Any], message: str, tmp_path: Path):
    with pytest.raises(UsageError, match=message):
        reinforce(config_of(SHORT), tmp_path / "none", replace(SMALL, **changes), threads=1)
    assert not (tmp_path / "none").exists()

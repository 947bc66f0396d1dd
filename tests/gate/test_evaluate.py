"""Evaluating: the same outcomes at any width and number of workers, on draws that were not trained on."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Simulate
from tests.learn.neighbours import Neighbours
from twinloop.errors import CheckpointError, UsageError
from twinloop.gate import Evaluation
from twinloop.gate.clips import film
from twinloop.gate.evaluate import evaluate, unseen_seed
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.observe.estimate import derived
from twinloop.observe.features import features_of
from twinloop.run.config import RunConfig, config_from_text
from twinloop.twin.twin import Twin

# Wider than the demonstrations, so that some fail.
CELL = """
randomization:
  physics: {object_mass_kg: [0.05, 0.4], object_position_noise_cm: [-5, 5]}
  sensing: {encoder_noise_mrad: [0, 1]}
rollout: {parallel_envs: 64}
"""


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return config_from_text(CELL, name="cell.yaml", folder=Path()).with_seed(11)


@pytest.fixture(scope="module")
def candidate(simulate: Simulate, twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Candidate:
    runtime = replace(Neighbours.of(simulate(15), twin), executed=8)
    path = tmp_path_factory.mktemp("runtime") / "neighbours.npz"
    runtime.save(path)
    load = partial(Neighbours.load, path)
    return Candidate("neighbours", "0" * 64, "neighbours", runtime.space, load, frozenset({3}))


@pytest.fixture(scope="module")
def evaluated(candidate: Candidate, config: RunConfig) -> Evaluation:
    return evaluate(candidate, config, config_name="cell", episodes=20, workers=1)


def test_some_succeed_and_some_fail(evaluated: Evaluation):
    assert 0 < evaluated.success.successes < evaluated.success.trials == 20
    outcomes = evaluated.outcomes
    assert (outcomes.completed[outcomes.success] == 8).all()
    assert (outcomes.completed[~outcomes.success] < 8).all()
    assert (outcomes.completion_s[outcomes.success] < outcomes.duration_s[outcomes.success]).all()
    assert np.isnan(outcomes.completion_s[~outcomes.success]).all()
    assert set(outcomes.draws) == {
        "object_mass_kg", "object_position_noise_cm.x", "object_position_noise_cm.y", "encoder_noise_mrad"
    }  # fmt: skip


def test_outcomes_are_the_same_at_any_width_and_number_of_workers(
    candidate: Candidate, config: RunConfig, evaluated: Evaluation
):
    narrow = replace(config, rollout=replace(config.rollout, parallel_envs=6))
    for given, workers in ((narrow, 1), (config, 2)):
        again = evaluate(candidate, given, config_name="cell", episodes=20, workers=workers)
        assert again.outcomes.table().equals(evaluated.outcomes.table())
        assert again.subject == evaluated.subject


def test_more_episodes_begin_with_the_same(candidate: Candidate, config: RunConfig, evaluated: Evaluation):
    fewer = evaluate(candidate, config, config_name="cell", episodes=5, workers=1)
    assert fewer.outcomes.table().equals(evaluated.outcomes.take(np.arange(5)).table())


def test_draws_that_were_trained_on_are_refused(candidate: Candidate, config: RunConfig):
    with pytest.raises(UsageError, match="was trained on"):
        evaluate(candidate, config.with_seed(3), config_name="cell", episodes=5)
    trained = replace(candidate, seeds=frozenset({1_000_000, 5}))
    assert unseen_seed(candidate) == 1_000_000
    assert unseen_seed(candidate, trained) == 1_000_001


def test_a_policy_of_another_robot_or_rate_is_refused_with_a_table(candidate: Candidate, config: RunConfig):
    other = replace(candidate, space=replace(candidate.space, robot="so101", rate_hz=50.0))
    with pytest.raises(CheckpointError) as refused:
        evaluate(other, config, config_name="cell", episodes=5)
    for word in ("neighbours", "cell", "so101", "franka_panda", "50 Hz", "25 Hz"):
        assert word in str(refused.value)
    inputs = (*candidate.space.inputs, replace(candidate.space.inputs[0], name="observation.imu"))
    sensing = replace(candidate, space=replace(candidate.space, inputs=inputs))
    with pytest.raises(CheckpointError, match=r"observation\.imu .*missing"):
        evaluate(sensing, config, config_name="cell", episodes=5)


def test_a_policy_that_reads_the_estimate_fits(candidate: Candidate, config: RunConfig, twin: Twin):
    features = {feature.name: feature for feature in features_of(twin, config.observe)}
    estimate = derived(features, twin.robot.name)
    assert estimate is not None
    reads, other = (
        replace(candidate, space=replace(candidate.space, inputs=(replace(estimate, names=names),)))
        for names in (estimate.names, estimate.names[::-1])
    )
    refuse_misfit(reads, config, twin, config_name="cell")
    with pytest.raises(CheckpointError, match="elements"):
        refuse_misfit(other, config, twin, config_name="cell")


def test_failures_are_filmed(candidate: Candidate, config: RunConfig, evaluated: Evaluation, tmp_path: Path):
    pytest.importorskip("av")
    from twinloop.dataset.video import count_frames
    from twinloop.errors import RenderError
    from twinloop.observe.gl import context

    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    failed = np.flatnonzero(~evaluated.outcomes.success)[:1].tolist()
    films = film(candidate, config, failed, tmp_path, acting=ActingConfig())
    assert list(films) == failed
    for attempt, path in films.items():
        assert count_frames(path) == -(-round(evaluated.outcomes.duration_s[attempt] * 25) // 2)

"""Laws of training by PPO: resumes to the same weights, acts the same in evaluation, keeps the last checkpoint."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.environments.cells import NOISY, config_of
from twinloop.environments.make import vector_env
from twinloop.environments.table import all_terms
from twinloop.environments.term import StepState, Term
from twinloop.errors import CheckpointError, TermError, UsageError
from twinloop.gate.rollouts import acted
from twinloop.learn.candidate import candidate_of
from twinloop.learn.checkpoint import load, load_runtime
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import split_inputs
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.fresh_policy import fresh_policy, space_of_env
from twinloop.learn.reinforce.ppo import PpoTraining
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.learn.reinforce.start import reinforce
from twinloop.learn.scales import blank_scales
from twinloop.run.twin import twin_of

SMALL = ReinforceConfig(iterations=4, num_envs=4, steps=6, width=16, depth=1, save_every=2, epochs=2, mini_batches=2)
AVERAGED = replace(SMALL, averaged=0.7, critic_rate=1e-3)
SHORT = "{time_limit_s: 0.32}"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("policies") / "whole"
    reinforce(config_of(SHORT), out, SMALL, threads=1)
    return out


class Killed(Exception):
    pass


def test_a_killed_training_continues_to_the_same_weights(trained: Path, tmp_path: Path):
    def kill(record: IterationRecord) -> None:
        if record.iteration == 3:
            raise Killed

    out = tmp_path / "killed"
    with pytest.raises(Killed):
        reinforce(config_of(SHORT), out, SMALL, threads=1, on_iteration=kill)
    assert load(out).card.steps == 2
    result = reinforce(config_of(SHORT), out, SMALL, threads=1)
    assert result.resumed_from == 2
    whole = load(trained)
    assert result.checkpoint.card.weights == whole.card.weights
    assert [json.loads(line) for line in (out / "training" / "curve.jsonl").read_text().splitlines()] == [
        json.loads(line) for line in (trained / "training" / "curve.jsonl").read_text().splitlines()
    ]


def test_a_killed_training_with_averaged_weights_continues_to_the_same_weights(tmp_path: Path):
    whole = reinforce(config_of(SHORT), tmp_path / "whole", replace(AVERAGED, iterations=3), threads=1)
    reinforce(config_of(SHORT), tmp_path / "parts", replace(AVERAGED, iterations=1), threads=1)
    parts = reinforce(config_of(SHORT), tmp_path / "parts", replace(AVERAGED, iterations=3), threads=1)
    assert parts.resumed_from == 1
    assert parts.checkpoint.card.weights == whole.checkpoint.card.weights


def test_averaged_weights_are_the_mean_of_the_first_iterations():
    training = PpoTraining(
        env := vector_env(config_of(SHORT), num_envs=4, seed=0, threads=1),
        fresh_policy(env, width=16, depth=1, bound="clip", seed=0), AVERAGED, started=False,
    )  # fmt: skip
    weights = []
    for _ in range(3):  # the decay of 0.7 is that of a mean of more than three
        training.iterate()
        weights.append(training.model.policy.leave.weight.detach().clone())
    assert torch.allclose(training.policy.leave.weight, torch.stack(weights).mean(dim=0), atol=1e-6)
    assert not torch.allclose(training.policy.leave.weight, weights[-1], atol=1e-6)


def test_the_policys_rate_follows_the_change_of_the_policy_and_the_critics_rate_stays():
    env = vector_env(config_of(SHORT), num_envs=4, seed=0, threads=1)
    policy = fresh_policy(env, width=16, depth=1, bound="clip", seed=0)
    for rate, change in ((1e-9, 1.5), (0.1, 1 / 1.5)):
        training = PpoTraining(env, policy, replace(AVERAGED, learning_rate=rate), started=False)
        figures = training.iterate()
        assert figures["learning_rate"] == pytest.approx(rate * change)
        assert [group["lr"] for group in training.algorithm.optimizer.param_groups] == [rate * change, 1e-3]


def test_the_critic_learns_large_returns_within_a_few_iterations():
    env = vector_env(config_of("{time_limit_s: 0.32, rewards: {alive: 5}}"), num_envs=16, seed=0, threads=1)
    policy = fresh_policy(env, width=16, depth=1, bound="clip", seed=0)
    training = PpoTraining(env, policy, replace(SMALL, num_envs=16, learning_rate=1e-3, epochs=20), started=False)
    training.algorithm.schedule = "fixed"
    for _ in range(3):
        training.iterate()
    with torch.no_grad():
        assert training.algorithm.critic(training.env.get_observations()).mean() > 8


def test_advantages_are_limited():
    env = vector_env(config_of(SHORT), num_envs=4, seed=0, threads=1)
    policy = fresh_policy(env, width=16, depth=1, bound="clip", seed=0)
    largest = []
    for limit in (0.0, 0.5):
        training = PpoTraining(env, policy, replace(SMALL, advantage_limit=limit), started=False)
        training.iterate()
        largest.append(float(training.algorithm.storage.advantages.abs().max()))
    assert largest[0] > 1
    assert largest[1] == 0.5


def test_other_settings_are_refused_and_more_iterations_are_not(trained: Path):
    with pytest.raises(UsageError, match=r"was started with .*seed 0; you gave 1"):
        reinforce(config_of(SHORT), trained, replace(SMALL, seed=1), threads=1)
    again = reinforce(config_of(SHORT), trained, SMALL, threads=1)
    assert again.resumed_from == SMALL.iterations


def test_reward_terms_add_up_and_are_written_for_tensorboard(trained: Path):
    lines = (trained / "training" / "curve.jsonl").read_text().splitlines()
    for line in lines:
        record = IterationRecord(**json.loads(line))
        assert record.reward == pytest.approx(sum(record.terms.values()), abs=1e-6)
        assert "reward/phases_gain" in record.scalars()
    assert list((trained / "training" / "tensorboard").glob("events.*"))


def test_the_checkpoint_is_one_of_the_usual_kind(trained: Path):
    checkpoint = load(trained)
    assert checkpoint.card.policy == "mlp"
    assert checkpoint.card.settings["bound"] == "clip"
    assert candidate_of(trained).seeds == {0}
    assert checkpoint.card.finished


def test_a_policy_acts_the_same_in_evaluation_and_environment(trained: Path):
    """Same seed, same episode index, same policy: the same commands, bit by bit."""
    config, count, ticks = config_of("{time_limit_s: 0.4, terminations: [fallen]}"), 3, 8
    checkpoint = load(trained)
    env = vector_env(config, num_envs=count, seed=77, threads=1)
    env.reset()
    commands = []
    for _ in range(ticks):
        # Inference in batches of 16, as an evaluation does it.
        flat = torch.zeros(16, len(env.layout))
        flat[:count] = torch.from_numpy(env.observations["policy"])
        with torch.inference_mode():
            inputs = split_inputs(flat, env.groups.inputs)
            chunk = checkpoint.policy(inputs, torch.zeros(16), torch.zeros(16, 1, 8)).numpy()
        commands.append(chunk[:count, 0])
        env.step_commands(commands[-1])
    twin, run = twin_of(config), config.with_seed(77)
    (episodes,) = acted(
        run, twin, load_runtime(trained), ActingConfig(), [run.sampler().draw(0, count)], width=count
    )  # fmt: skip
    limits = env.robot.scale
    for episode in range(count):
        start = episodes.starts[episode]
        ours = np.clip(np.array(commands)[:, episode], limits.lowest, limits.highest).astype(np.float32)
        assert np.array_equal(episodes["action"][start : start + ticks], ours)


def test_fine_tuning_starts_from_a_policy_and_keeps_it_on_a_leash(trained: Path, tmp_path: Path):
    parent = load(trained)
    config = replace(SMALL, iterations=2, leash=0.1, noise=0.1)
    result = reinforce(config_of(SHORT), tmp_path / "tuned", config, parent=parent, threads=1)
    card = result.checkpoint.card
    assert card.parent == parent.card.digest
    assert card.weights != parent.card.weights
    assert abs(result.curve[0].figures["divergence"]) < 1e-5  # it has not moved yet
    assert result.curve[1].figures["divergence"] != 0


def test_fine_tuning_moves_whole_chunks_and_keeps_their_shape():
    env = vector_env(config_of(SHORT), num_envs=4, seed=0, threads=1)
    space, scale = space_of_env(env), env.robot.scale
    rows = [scale.centre.tolist()] * 4, [scale.span.tolist()] * 4
    scales = replace(blank_scales(space, 4), relative=scale.relative.tolist(), action=rows)
    policy = MlpPolicy(space, scales, horizon=4, executed=3, width=16, depth=1)
    seen = {"policy": torch.randn(5, len(env.layout))}
    training = PpoTraining(env, policy, replace(SMALL, noise=0.1, leash=0.1), started=True)
    before = training.model.chunk(seen).detach()
    for _ in range(2):
        training.iterate()
    change = training.model.chunk(seen).detach() - before
    assert change.abs().max() > 1e-4
    assert torch.allclose(change, change[:, :1], atol=1e-5)


def test_at_first_only_the_critic_learns(trained: Path, tmp_path: Path):
    parent = load(trained)
    config = replace(SMALL, iterations=2, leash=0.1, noise=0.1, critic_first=2)
    result = reinforce(config_of(SHORT), tmp_path / "tuned", config, parent=parent, threads=1)
    assert result.checkpoint.card.weights == parent.card.weights


def test_early_stop(tmp_path: Path):
    result = reinforce(config_of(SHORT), tmp_path / "a", replace(SMALL, patience=1, iterations=50), threads=1)
    assert len(result.curve) < 50
    assert "no better mean reward" in result.stopped


class TestBadInput:
    def test_a_policy_of_another_morphology_is_refused(self, trained: Path, tmp_path: Path):
        other = config_of(SHORT, NOISY.replace("franka_panda", "so101"))
        with pytest.raises(CheckpointError, match=r"does not fit the environment(.|\n)*robot +franka_panda +so101"):
            reinforce(other, tmp_path / "x", replace(SMALL, leash=0.1), parent=load(trained), threads=1)
        assert not (tmp_path / "x" / "card.json").exists()

    def test_a_term_that_becomes_non_finite_stops_training_and_the_last_checkpoint_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        seen = []

        def breaks(_: StepState) -> np.ndarray:
            seen.append(1)
            return np.where(np.arange(4) == 2, np.inf, 0.0) if len(seen) > 34 else np.zeros(4)

        terms = (*all_terms(), Term("breaks", "reward", "1", "infinite after a while", breaks))
        monkeypatch.setattr("twinloop.environments.table.all_terms", lambda: terms)
        config = config_of("{time_limit_s: 0.32, rewards: {progress: 1, breaks: 1}}")
        with pytest.raises(TermError, match="reward term 'breaks' is inf in environment 2"):
            reinforce(config, tmp_path / "x", SMALL, threads=1)
        assert load(tmp_path / "x").card.steps == 2

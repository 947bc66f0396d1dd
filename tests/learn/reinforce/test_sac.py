"""SAC: demonstrations are simulated again, are in every batch, and a killed training continues to the same weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from twinloop.environments.make import vector_env
from twinloop.errors import UsageError
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce.actor_model import split_inputs
from twinloop.learn.reinforce.fresh_policy import fresh_policy
from twinloop.learn.reinforce.recipes import sac_config
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.learn.reinforce.replayed import replay_demonstrations
from twinloop.learn.reinforce.sac import MixedReplayBuffer, SacTraining
from twinloop.learn.reinforce.start import reinforce
from twinloop.run.config import RunConfig

SMALL = replace(sac_config(), num_envs=2, steps=3, epochs=2, width=16, depth=1, iterations=4, save_every=2, replay=64)


class Killed(Exception):
    pass


def test_demonstrations_succeed_again_and_have_the_rewards_of_the_terms(demonstrated: Path, cell: RunConfig):
    replayed = replay_demonstrations(demonstrated, cell, threads=1)
    assert replayed.episodes == 3
    assert replayed.successes == 3
    assert replayed.reward.sum() > 3  # each has completed all phases
    assert replayed.terminated.sum() == 3
    assert np.abs(replayed.action).max() <= 1
    assert np.mean(np.abs(replayed.action[:, :7]) == 1) < 0.02  # the scale is large enough for the expert's steps


def test_demonstrations_of_another_config_are_refused(demonstrated: Path, cell: RunConfig):
    other = replace(cell, rollout=replace(cell.rollout, control_hz=25))
    with pytest.raises(UsageError, match="was recorded with another config"):
        replay_demonstrations(demonstrated, other, threads=1)


def test_a_share_of_every_batch_is_demonstrated(demonstrated: Path, cell: RunConfig):
    env = vector_env(cell, num_envs=2, seed=0, threads=1)
    policy = fresh_policy(env, width=16, depth=1, bound="tanh", seed=0)
    training = SacTraining(env, policy, SMALL, run=cell, demonstrations=demonstrated, threads=1)
    training.iterate()
    buffer = training._sac.replay_buffer
    assert isinstance(buffer, MixedReplayBuffer)
    assert training.replayed is not None
    rows = {row.tobytes() for row in training.replayed.observation.astype(np.float32)}
    batch = buffer.sample(40).observations.numpy()
    assert sum(row.tobytes() in rows for row in batch) == 10
    # The network of the actor is the policy that is saved.
    seen = torch.from_numpy(env.observations["policy"])
    with torch.no_grad():
        sampled = training._sac.actor(seen, deterministic=True)
        ours = policy.bounded(policy.raw_code(split_inputs(seen, policy.features), torch.zeros(2)))[:, 0]
    assert torch.allclose(sampled, ours, atol=1e-6)


def test_a_killed_training_continues_to_the_same_weights(demonstrated: Path, cell: RunConfig, tmp_path: Path):
    def kill(record: IterationRecord) -> None:
        if record.iteration == 3:
            raise Killed

    whole = reinforce(cell, tmp_path / "whole", SMALL, demonstrations=demonstrated, threads=1)
    with pytest.raises(Killed):
        reinforce(cell, tmp_path / "b", SMALL, demonstrations=demonstrated, threads=1, on_iteration=kill)
    resumed = reinforce(cell, tmp_path / "b", SMALL, demonstrations=demonstrated, threads=1)
    assert resumed.resumed_from == 2
    assert resumed.checkpoint.card.weights == whole.checkpoint.card.weights
    assert {source["kind"] for source in load(tmp_path / "b").card.data} == {"reinforcement", "sim"}


def test_ppo_refuses_demonstrations(cell: RunConfig, demonstrated: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="--algorithm sac"):
        reinforce(cell, tmp_path / "x", replace(SMALL, algorithm="ppo"), demonstrations=demonstrated)

"""Rollouts in shards: parts of the environments, each simulated by itself, on any worker of an executor.

A rollout depends only on the job (weights, iteration, states of the environments) and the number of its shard. So a
training has the same weights with any number of workers, on this machine or on Ray, and after a worker has died.

A worker keeps the environments of its last rollouts. If it gets the same shard again, it continues; otherwise it
simulates the running episodes again with their recorded actions, as a resumed training does.
"""

import hashlib
import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twinloop.environments.make import vector_env
from twinloop.fleet.executor import Executor
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import exploring_actor
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.fresh_policy import space_of_env
from twinloop.learn.reinforce.policy_env import PolicyEnv, RolloutCounts
from twinloop.learn.scales import blank_scales
from twinloop.run.config import RunConfig, config_from_text
from twinloop.simulate.engine import EngineConfig

EnvState = dict[str, np.ndarray]
SEED, ACTIONS = "seed", "actions"
ENVIRONMENTS_AXIS = {SEED: None, ACTIONS: 1}
"""Axis of the environments in the arrays of a state; the first one in all others."""


@dataclass(frozen=True)
class Workers:
    """Where and how shards are simulated. count: of workers that run in parallel."""

    executor: Executor
    count: int
    run_config: RunConfig
    engine: EngineConfig


@dataclass(frozen=True)
class ShardedTraining:
    """Constants of a training, as values that can be sent to other processes.

    Attributes:
        config_yaml, folder: the run config, and the folder that its relative paths start from.
        policy: settings of the network; weights come with each job.
        key: tells trainings apart in a worker that serves several.
    """

    config_yaml: str
    folder: str
    config: ReinforceConfig
    policy: dict[str, Any]
    normalise: bool
    engine: EngineConfig
    key: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(frozen=True)
class RolloutJob:
    """The rollouts of one iteration.

    Attributes:
        weights: of the actor.
        states: of the environments of each shard, when the iteration begins.
    """

    training: ShardedTraining
    iteration: int
    weights: Mapping[str, np.ndarray]
    states: Sequence[EnvState]


@dataclass(frozen=True)
class ShardRollout:
    """The rollout of one shard, with n environments and t policy steps.

    Attributes:
        observations: group -> (t + 1, n, elements).
        actions: (t, n, a) outputs of the actor.
        rewards, dones, time_outs: (t, n).
        state: of the environments at the end.
    """

    observations: dict[str, np.ndarray]
    actions: np.ndarray
    rewards: np.ndarray
    dones: np.ndarray
    time_outs: np.ndarray
    state: EnvState
    counts: RolloutCounts


def shard_bounds(num_envs: int, shards: int) -> list[tuple[int, int]]:
    """First and last (exclusive) environment of each shard."""
    edges = [num_envs * shard // shards for shard in range(shards + 1)]
    return list(itertools.pairwise(edges))


def split_state(state: Mapping[str, np.ndarray], bounds: Sequence[tuple[int, int]]) -> list[EnvState]:
    """The state of all environments as one state for each shard."""
    return [{name: _part(name, values, *edges) for name, values in state.items()} for edges in bounds]


def joined_state(states: Sequence[EnvState]) -> EnvState:
    """The states of the shards as one state."""
    longest = max(state[ACTIONS].shape[2] for state in states)
    joined = {}
    for name, first in states[0].items():
        axis = ENVIRONMENTS_AXIS.get(name, 0)
        parts = [_padded(state[name], longest) if name == ACTIONS else state[name] for state in states]
        joined[name] = first.copy() if axis is None else np.concatenate(parts, axis=axis)
    return joined


def _part(name: str, values: np.ndarray, first: int, stop: int) -> np.ndarray:
    axis = ENVIRONMENTS_AXIS.get(name, 0)
    return values if axis is None else np.take(values, np.arange(first, stop), axis=axis)


def _padded(actions: np.ndarray, longest: int) -> np.ndarray:
    return np.pad(actions, ((0, 0), (0, 0), (0, longest - actions.shape[2]), (0, 0)))


def simulate_shards(job: RolloutJob, shards: Iterator[int]) -> Iterator[tuple[int, ShardRollout]]:
    """Work of an executor: simulate one iteration of each shard."""
    for shard in shards:
        # The actor samples from the global generator. In the process of the training that must stay as it is.
        with torch.random.fork_rng(devices=[]):
            rollout = _environments(job.training, shard).rollout(job)
        yield shard, rollout


_KEPT: dict[tuple[str, int], "_ShardEnvironments"] = {}


def _environments(training: ShardedTraining, shard: int) -> "_ShardEnvironments":
    for key in [key for key in _KEPT if key[0] != training.key]:
        del _KEPT[key]
    if (training.key, shard) not in _KEPT:
        _KEPT[training.key, shard] = _ShardEnvironments(training, shard)
    return _KEPT[training.key, shard]


class _ShardEnvironments:
    """The environments of a shard, with an actor."""

    def __init__(self, training: ShardedTraining, shard: int):
        config = training.config
        first, stop = shard_bounds(config.num_envs, config.shards)[shard]
        run = config_from_text(training.config_yaml, name="config.yaml", folder=Path(training.folder))
        env = vector_env(
            run, num_envs=stop - first, seed=config.seed, threads=1, engine=training.engine,
            first=first, total=config.num_envs,
        )  # fmt: skip
        env.stagger()
        space = space_of_env(env)
        policy = MlpPolicy(space, blank_scales(space, training.policy["horizon"]), **training.policy)
        self._model = exploring_actor(policy, env.groups.inputs, noise=config.noise, normalise=training.normalise)
        self._env, self._shard, self._state_digest = PolicyEnv(env, self._model), shard, ""

    @torch.no_grad()
    def rollout(self, job: RolloutJob) -> ShardRollout:
        env, config, state = self._env, job.training.config, job.states[self._shard]
        if self._state_digest != _digest(state):
            env.env.restore(state)
        self._state_digest = ""  # unknown until the rollout is complete
        self._model.load_state_dict({name: torch.tensor(values) for name, values in job.weights.items()})
        env.begin_counting()
        observations, steps = [env.get_observations()], []
        torch.manual_seed(_noise_seed(config.seed, job.iteration, self._shard))
        for _ in range(config.steps):
            actions = self._model(observations[-1], stochastic_output=True)
            after, rewards, dones, extras = env.step(actions)
            observations.append(after)
            steps.append((actions, rewards, dones, extras["time_outs"]))
        ended = env.env.state()
        self._state_digest = _digest(ended)
        columns = [torch.stack(column).numpy() for column in zip(*steps, strict=True)]
        seen = {name: torch.stack([group[name] for group in observations]).numpy() for name in env.env.observations}
        return ShardRollout(seen, *columns, state=ended, counts=env.counts)


def _noise_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def _digest(state: EnvState) -> str:
    digest = hashlib.sha256()
    for name, values in sorted(state.items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()

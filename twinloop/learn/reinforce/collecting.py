"""How PPO collects the rollouts of an iteration: in the environments of this process, or in shards on workers."""

from typing import Protocol

import numpy as np
import torch
from tensordict import TensorDict

from twinloop.learn.reinforce.leashed_ppo import LeashedPPO
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.shards import (
    EnvState,
    RolloutJob,
    ShardedTraining,
    ShardRollout,
    Workers,
    joined_state,
    shard_bounds,
    simulate_shards,
    split_state,
)  # fmt: skip

CURRICULUM = "curriculum/"


class Collector(Protocol):
    """Fills the storage of PPO with the rollouts of an iteration."""

    def collect(self, algorithm: LeashedPPO, steps: int, iteration: int) -> TensorDict:
        """Return the observations after the last step."""
        ...

    def state(self) -> EnvState:
        """The state of all environments."""
        ...

    def restore(self, state: EnvState) -> None: ...


class LocalCollector:
    """Steps the environments of this process."""

    def __init__(self, env: PolicyEnv):
        self._env, self._obs = env, env.get_observations()

    def collect(self, algorithm: LeashedPPO, steps: int, iteration: int) -> TensorDict:
        del iteration
        for _ in range(steps):
            actions = algorithm.act(self._obs)
            self._obs, rewards, dones, extras = self._env.step(actions)
            algorithm.process_env_step(self._obs, rewards, dones, extras)
        return self._obs

    def state(self) -> EnvState:
        return self._env.env.state()

    def restore(self, state: EnvState) -> None:
        self._env.env.restore(state)
        self._obs = self._env.get_observations()


class ShardCollector:
    """Lets workers simulate shards of the environments.

    Args:
        env: all environments. They give the first state and count what the workers simulate, but are not stepped.
    """

    def __init__(self, env: PolicyEnv, training: ShardedTraining, workers: Workers):
        self._env, self._training, self._workers = env, training, workers
        self._bounds = shard_bounds(training.config.num_envs, training.config.shards)
        self._states = split_state(env.env.state(), self._bounds)

    def collect(self, algorithm: LeashedPPO, steps: int, iteration: int) -> TensorDict:
        weights = {name: values.cpu().numpy() for name, values in algorithm.actor.state_dict().items()}
        job = RolloutJob(self._training, iteration, weights, self._states)
        shards = range(len(self._states))
        by_shard = dict(self._workers.executor.run(simulate_shards, job, shards, workers=self._workers.count))
        rollouts: list[ShardRollout] = [by_shard[shard] for shard in shards]
        self._states = [rollout.state for rollout in rollouts]
        for rollout in rollouts:
            self._env.add(rollout.counts)
        self._show_curriculum()
        return self._record(algorithm, rollouts, steps)

    def _record(self, algorithm: LeashedPPO, rollouts: list[ShardRollout], steps: int) -> TensorDict:
        groups = {
            name: self._together([rollout.observations[name] for rollout in rollouts])
            for name in rollouts[0].observations
        }
        actions, rewards, dones, time_outs = (
            self._together([getattr(rollout, name) for rollout in rollouts])
            for name in ("actions", "rewards", "dones", "time_outs")
        )
        seen = [
            TensorDict({name: values[step] for name, values in groups.items()}, batch_size=[self._env.num_envs])
            for step in range(steps + 1)
        ]
        for step in range(steps):
            algorithm.act_recorded(seen[step], actions[step])
            algorithm.process_env_step(seen[step + 1], rewards[step], dones[step], {"time_outs": time_outs[step]})
        return seen[-1]

    def _together(self, parts: list[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(parts, axis=1)).to(self._env.device)

    def state(self) -> EnvState:
        return joined_state(self._states)

    def restore(self, state: EnvState) -> None:
        self._states = split_state(state, self._bounds)
        self._show_curriculum()

    def _show_curriculum(self) -> None:
        """Take over the levels of the workers, which the progress shows."""
        if (curriculum := self._env.env.curriculum) is None:
            return
        joined = joined_state(self._states)
        names = [name for name in joined if name.startswith(CURRICULUM)]
        curriculum.restore({name.removeprefix(CURRICULUM): joined[name] for name in names})

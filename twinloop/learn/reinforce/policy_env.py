"""PolicyEnv: environments as rsl-rl steps them. One step carries out one action chunk of the policy.

An environment whose episode ends inside a chunk waits for the end of the step, because a policy computes a new chunk
when an episode begins. So training executes chunks exactly as evaluation and deployment do.
"""

from dataclasses import dataclass

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict
from torch import Tensor

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.learn.reinforce.actor_model import PolicyModel


@dataclass(frozen=True)
class RolloutCounts:
    """Counts of a `PolicyEnv`, to be added to those of another one. It has the attributes of `PolicyEnv`."""

    ended: tuple[bool, ...]
    lengths: tuple[int, ...]
    reasons: tuple[str, ...]
    term_sums: dict[str, float]
    periods: int
    lowest: np.ndarray
    highest: np.ndarray


class PolicyEnv(VecEnv):
    """Environments whose actions are the outputs of an actor.

    Attributes:
        ended: success of every episode that has ended since `clear`, in order.
        term_sums: reward term -> sum over all environments and periods since `clear`.
        periods: simulated control periods of all environments since `clear`.
        lowest, highest: (a,) extreme commands so far.
    """

    def __init__(self, env: VectorTwinEnv, model: PolicyModel, *, device: str = "cpu"):
        self.env, self.model, self.device = env, model, device
        self.num_envs, self.num_actions = env.num_envs, model.size
        self.executed = model.policy.executed
        self.max_episode_length = -(-env.longest // self.executed)
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.cfg = {}
        self.begin_counting()

    def begin_counting(self) -> None:
        """Forget everything so far."""
        size = self.env.robot.action.shape[0]
        self.lowest, self.highest = np.full(size, np.inf), np.full(size, -np.inf)
        self.episodes = self.total_periods = 0
        self.clear()

    def clear(self) -> None:
        self.ended: list[bool] = []
        self.lengths: list[int] = []
        self.reasons: list[str] = []
        self.returns = 0.0
        self.term_sums: dict[str, float] = {}
        self.periods = 0

    @property
    def counts(self) -> RolloutCounts:
        """The counts since `clear`, and the extreme commands so far."""
        return RolloutCounts(
            tuple(self.ended), tuple(self.lengths), tuple(self.reasons), dict(self.term_sums), self.periods,
            self.lowest, self.highest,
        )  # fmt: skip

    def add(self, counts: RolloutCounts) -> None:
        """Add the counts of environments that were simulated elsewhere."""
        self.ended += counts.ended
        self.lengths += counts.lengths
        self.reasons += counts.reasons
        self.episodes += len(counts.ended)
        self.periods += counts.periods
        self.total_periods += counts.periods
        self.lowest, self.highest = np.minimum(self.lowest, counts.lowest), np.maximum(self.highest, counts.highest)
        for name, value in counts.term_sums.items():
            self.term_sums[name] = self.term_sums.get(name, 0.0) + value
            self.returns += value

    def get_observations(self) -> TensorDict:
        groups = {name: torch.from_numpy(values.copy()) for name, values in self.env.observations.items()}
        return TensorDict(groups, batch_size=[self.num_envs]).to(self.device)

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict]:
        commands = self._commands(actions)
        rewards, dones = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        time_outs = np.zeros(self.num_envs, bool)
        for place in range(self.executed):
            ids = None if not dones.any() else np.flatnonzero(~dones)
            if ids is not None and not len(ids):
                break
            _, reward, terminated, truncated, infos = self.env.step_commands(commands[:, place], ids)
            rewards += reward
            dones |= terminated | truncated
            time_outs |= truncated
            self.note(infos, self.num_envs if ids is None else len(ids))
        extras = {"time_outs": torch.from_numpy(time_outs).to(self.device)}
        reward = torch.from_numpy(rewards.astype(np.float32)).to(self.device)
        return self.get_observations(), reward, torch.from_numpy(dones).to(self.device), extras

    def note(self, infos: dict, count: int) -> None:
        """Count a step of `count` environments."""
        self.periods += count
        self.total_periods += count
        self.lowest = np.minimum(self.lowest, self.env.commands.min(axis=0))
        self.highest = np.maximum(self.highest, self.env.commands.max(axis=0))
        for name, values in infos["reward_terms"].items():
            self.term_sums[name] = self.term_sums.get(name, 0.0) + float(values.sum())
            self.returns += float(values.sum())
        if "final_info" in infos:
            final = infos["final_info"]
            mask = infos["_final_info"] & ~final["shortened"]  # their outcome is that of a shorter episode
            self.ended += final["success"][mask].tolist()
            self.lengths += final["length"][mask].tolist()
            self.reasons += final["reason"][mask].tolist()
            self.episodes += int(mask.sum())

    @torch.no_grad()
    def _commands(self, actions: Tensor) -> np.ndarray:
        """(n, executed, a) commands of the chunks that the actor's outputs stand for."""
        policy, obs = self.model.policy, self.get_observations()
        code = policy.bounded(self.model.explored(obs, actions))
        padded = torch.zeros(self.num_envs, policy.horizon, code.shape[2], device=code.device)
        padded[:, : self.executed] = code
        return policy.code.decode(padded, self.model.inputs(obs))[:, : self.executed].cpu().numpy()

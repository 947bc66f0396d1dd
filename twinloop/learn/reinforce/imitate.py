"""ImitateTraining: a policy imitates the robot's scripted expert, in the states that the policy visits.

The share of environments that the expert drives falls from 1 to 0 in the first iterations (DAgger: Ross et al., "A
Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning", 2011). The expert may use true
values of the simulation; the policy gets the observations of the config.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import UsageError
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import PolicyModel
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.random_state import keep_random_state, seed_all
from twinloop.learn.reinforce.saved_state import optimiser_state, part_of, restore_optimiser

HANDOVER = 10
"""Iterations until the policy drives all environments."""
KEPT = 1 << 17
"""Most recent observations that are trained on."""
BATCH = 1024
UPDATES = 8
"""Gradient steps of an epoch and mini-batch."""


class ImitateTraining:
    """One training by imitation of the scripted expert, iteration by iteration.

    Raises:
        UsageError: the robot has no scripted expert.
    """

    def __init__(self, env: VectorTwinEnv, policy: MlpPolicy, config: ReinforceConfig, *, device: str = "cpu"):
        self.config, self.policy = config, policy
        if not hasattr(env.robot, "use_expert"):
            raise UsageError(
                f"--algorithm imitate: {env.robot.robot} has no scripted expert in environments; use ppo, or train on "
                "a dataset with `twinloop train`"
            )
        env.robot.use_expert()  # pyright: ignore
        seed_all(config.seed)
        self.model = PolicyModel(
            policy, env.groups.inputs, noise=config.noise, least=config.noise, most=config.noise,
            normalise=True,
        )  # fmt: skip
        self.env = PolicyEnv(env, self.model, device=device)
        env.reset()
        self.optimiser = torch.optim.Adam(self.model.policy.parameters(), lr=config.learning_rate)
        self._obs = self.env.get_observations()
        self._seen: Tensor = torch.zeros(0, self._obs["policy"].shape[1])
        self._wanted: Tensor = torch.zeros(0, self.env.num_actions)
        self._iterations = 0

    def iterate(self) -> dict[str, float]:
        """Simulate, label every observation with the expert's action, and fit the policy to the labels."""
        env, count = self.env.env, self.env.num_envs
        guided = torch.arange(count) < round(count * max(0.0, 1 - self._iterations / HANDOVER))
        seen, wanted = [], []
        with torch.no_grad():
            for _ in range(self.config.steps):
                scale = env.robot.scale
                expert = (env.robot.expert_command() - scale.centre) / scale.span  # pyright: ignore
                label = torch.from_numpy(np.clip(expert, -1, 1).astype(np.float32))
                seen.append(self._obs["policy"].clone())
                wanted.append(label)
                action = torch.where(guided[:, None], label, self.model(self._obs))
                self.model.update_normalization(self._obs)
                self._obs, *_ = self.env.step(action + self.config.noise * torch.randn_like(action))
        self._seen = torch.cat([self._seen, *seen])[-KEPT:]
        self._wanted = torch.cat([self._wanted, *wanted])[-KEPT:]
        self._iterations += 1
        losses = [self._update() for _ in range(self.config.epochs * self.config.mini_batches * UPDATES)]
        return {"loss/imitation": float(np.mean(losses)), "guided": float(guided.float().mean())}

    def _update(self) -> float:
        rows = torch.randint(len(self._seen), (BATCH,))
        code = self.model.chunk({"policy": self._seen[rows]})[:, 0]
        loss = (self.policy.bounded(code) - self._wanted[rows]).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def state(self) -> dict[str, Tensor]:
        state = {f"actor.{name}": value for name, value in self.model.state_dict().items()}
        state |= {"seen": self._seen, "wanted": self._wanted, "iterations": torch.tensor(self._iterations)}
        env = {f"env.{name}": torch.from_numpy(values) for name, values in self.env.env.state().items()}
        return state | optimiser_state(self.optimiser) | env | keep_random_state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict(part_of(state, "actor"))
        self._seen, self._wanted, self._iterations = state["seen"], state["wanted"], int(state["iterations"])
        restore_optimiser(self.optimiser, state)
        self.env.env.restore({name: value.numpy() for name, value in part_of(state, "env").items()})
        self._obs = self.env.get_observations()
        seed_all(state)

"""PpoTraining: proximal policy optimisation by rsl-rl, with an optional leash to the policy that it started from."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import TrainingError
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import exploring_actor
from twinloop.learn.reinforce.collecting import LocalCollector, ShardCollector
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.leashed_ppo import LeashedPPO
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.random_state import keep_random_state, seed_all
from twinloop.learn.reinforce.saved_state import optimiser_state, part_of, restore_optimiser
from twinloop.learn.reinforce.shards import ShardedTraining, Workers

CRITIC_LAYERS = (256, 128)
MOST_DEVIATIONS = 8.0
WARM_UP = 16
"""Steps before training, which the normalisation of observations is fitted to."""


class ClippedCritic(MLPModel):
    """A critic that limits normalised observations, so that a first contact force is no outlier of a thousand."""

    def get_latent(self, obs: TensorDict, masks: Tensor | None = None, hidden_state: Any = None) -> Tensor:
        return super().get_latent(obs, masks, hidden_state).clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)


class PpoTraining:
    """One training by PPO, iteration by iteration.

    Args:
        started: a trained policy to improve; its observations stay normalised as they are.
        workers: simulate the environments in shards there; by default they are simulated in this process.
    """

    name = "ppo"

    def __init__(
        self, env: VectorTwinEnv, policy: MlpPolicy, config: ReinforceConfig, *, started: bool, device: str = "cpu",
        workers: Workers | None = None,
    ):  # fmt: skip
        self.config, self._trained = config, policy
        self.policy = copy.deepcopy(policy) if config.averaged else policy
        seed_all(config.seed)
        self.model = exploring_actor(policy, env.groups.inputs, noise=config.noise, normalise=not started)
        self.env = PolicyEnv(env, self.model, device=device)
        env.reset()
        obs = self.env.get_observations()
        critic = ClippedCritic(
            obs, {"critic": ["critic"]}, "critic", 1, hidden_dims=CRITIC_LAYERS, obs_normalization=True
        )
        storage = RolloutStorage("rl", env.num_envs, config.steps, obs, [self.env.num_actions], device)
        self.algorithm = LeashedPPO(
            self.model, critic, storage,  # pyright: ignore[reportArgumentType]
            num_learning_epochs=config.epochs, num_mini_batches=config.mini_batches,
            gamma=config.gamma**policy.executed,
            lam=config.lam, entropy_coef=config.entropy, learning_rate=config.learning_rate,
            desired_kl=config.desired_kl, device=device,
            # Clipping would let values change by 0.2 in an iteration, and returns are about 20.
            use_clipped_value_loss=False,
        )  # fmt: skip
        if config.critic_rate:
            self.algorithm.use_two_rates(config.critic_rate)
        self._parts = _improved_parts(policy) if started else ""
        if started and config.leash:
            self.algorithm.reference = copy.deepcopy(self.model).requires_grad_(False)
            self.algorithm.leash = config.leash
        self._iterations = 0
        self._warm_up()
        self._collector = LocalCollector(self.env)
        if workers is not None:
            training = ShardedTraining(
                workers.run_config.to_yaml(), str(Path.cwd()), config, policy.settings(), not started, workers.engine
            )
            self._collector = ShardCollector(self.env, training, workers)

    def _warm_up(self) -> None:
        """Fit the normalisation of observations to a few random steps. Later updates then change it little."""
        seen = []
        with torch.no_grad():
            for _ in range(WARM_UP):
                seen.append(self.env.get_observations())
                self.env.step(self.model(seen[-1], stochastic_output=True))
        together: Any = torch.cat(seen)
        self.algorithm.train_mode()
        self.model.update_normalization(together)
        self.algorithm.critic.update_normalization(together)
        self.env.env.stagger()
        self.env.env.reset(seed=self.config.seed)
        self.env.begin_counting()

    def iterate(self) -> dict[str, float]:
        """Simulate `steps` policy steps, update the policy once, and return losses and other figures."""
        algorithm = self.algorithm
        algorithm.train_mode()
        algorithm.divergence = 0.0
        self.model.requires_grad_(self._iterations >= self.config.critic_first)
        if self._parts:
            _freeze_others(self._trained, self._parts)
        self._iterations += 1
        with torch.no_grad():
            algorithm.compute_returns(self._collector.collect(algorithm, self.config.steps, self._iterations))
            if limit := self.config.advantage_limit:
                algorithm.storage.advantages.clamp_(-limit, limit)
        losses = algorithm.update()
        if self.config.critic_rate and self._iterations > self.config.critic_first:
            algorithm.adapt_rate()
        if not all(torch.isfinite(parameter).all() for parameter in self.model.parameters()):
            raise TrainingError("the policy's weights are not finite after an update; try a lower --learning-rate")
        self._average()
        figures = {f"loss/{name}": float(value) for name, value in losses.items()}
        figures |= {"learning_rate": algorithm.learning_rate, "noise": float(self.model.output_std.detach().mean())}
        if self.config.critic_rate:
            figures["change"] = algorithm.change
        if algorithm.reference is not None:
            figures["divergence"] = algorithm.divergence / self.config.steps
        return figures

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged policy towards the trained one. Normalisation is copied."""
        if self.policy is self._trained:
            return
        # A mean of few iterations would otherwise keep the first weights for long.
        trained = max(self._iterations - self.config.critic_first, 1)
        decay = min(self.config.averaged, (trained - 1) / trained)
        for mean, value in zip(self.policy.parameters(), self._trained.parameters(), strict=True):
            mean.lerp_(value, 1 - decay)
        for mean, value in zip(self.policy.buffers(), self._trained.buffers(), strict=True):
            mean.copy_(value)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed training needs, as tensors."""
        models: dict[str, torch.nn.Module] = {"actor": self.model, "critic": self.algorithm.critic}
        if self.policy is not self._trained:
            models["averaged"] = self.policy
        state = {
            f"{part}.{name}": value for part, model in models.items() for name, value in model.state_dict().items()
        }
        if self.algorithm.reference is not None:
            state |= {f"reference.{name}": value for name, value in self.algorithm.reference.state_dict().items()}
        state |= optimiser_state(self.algorithm.optimizer)
        state["learning_rate"] = torch.tensor(self.algorithm.learning_rate, dtype=torch.float64)
        state["iterations"] = torch.tensor(self._iterations)
        env = {name: torch.from_numpy(values) for name, values in self._collector.state().items()}
        return state | {f"env.{name}": value for name, value in env.items()} | keep_random_state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict(part_of(state, "actor"))
        self.algorithm.critic.load_state_dict(part_of(state, "critic"))
        if self.policy is not self._trained:
            self.policy.load_state_dict(part_of(state, "averaged"))
        if self.algorithm.reference is not None:
            self.algorithm.reference.load_state_dict(part_of(state, "reference"))
        self.algorithm.learning_rate = float(state["learning_rate"])
        self._iterations = int(state["iterations"])
        restore_optimiser(self.algorithm.optimizer, state)
        self.algorithm.set_rate(self.algorithm.learning_rate)
        self._collector.restore({name: value.numpy() for name, value in part_of(state, "env").items()})
        seed_all(state)


def _improved_parts(policy: MlpPolicy) -> str:
    """Prefix of the parameters that are improved in a trained policy; "" for all.

    A residual is trained alone. Otherwise chunks are moved by the last layer only: the leash sees the mean of a chunk,
    and the last layer moves all actions of a chunk alike, so that the shape of chunks stays as it was cloned.
    """
    if policy.residual is not None:
        return "residual."
    return "leave." if policy.executed > 1 else ""


def _freeze_others(policy: MlpPolicy, parts: str) -> None:
    for name, parameter in policy.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name.startswith(parts))

"""PpoTraining: proximal policy optimisation by rsl-rl, with an optional leash to the policy that it started from.

The leash adds -leash * (log pi(a|s) - log pi_0(a|s)) to the reward of every step, which is the KL divergence from the
first policy pi_0 on average (Ziegler et al., "Fine-Tuning Language Models from Human Preferences", 2019).
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import TrainingError
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.actor_model import PolicyModel
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.policy_env import PolicyEnv
from twinloop.learn.reinforce.random_state import keep_random_state, seed_all
from twinloop.learn.reinforce.saved_state import optimiser_state, part_of, restore_optimiser

CRITIC_LAYERS = (256, 128)
LOG_PROB = "actions_log_prob"
MOST_DEVIATIONS = 8.0
RATE_STEP = 1.5
LEAST_NOISE = 0.1
"""Smallest standard deviation of exploration, as a share of the initial one."""
WARM_UP = 16
"""Steps before training, which the normalisation of observations is fitted to."""


class LeashedPPO(PPO):
    """PPO whose reward has a penalty for leaving a reference policy."""

    reference: PolicyModel | None = None
    leash = 0.0
    divergence = 0.0
    change = 0.0

    def process_env_step(self, obs: TensorDict, rewards: Tensor, dones: Tensor, extras: dict[str, Tensor]) -> None:
        if self.reference is not None:
            seen, actions, now = (getattr(self.transition, name) for name in ("observations", "actions", LOG_PROB))
            noise: Any = self.actor.distribution
            self.reference.distribution.load_state_dict(noise.state_dict())  # so that only the means differ
            self.reference(seen, stochastic_output=True)
            ratio = now.view(-1) - self.reference.get_output_log_prob(actions)
            self.divergence += float(ratio.mean())
            rewards = rewards - self.leash * ratio
        super().process_env_step(obs, rewards, dones, extras)

    def use_two_rates(self, critic_rate: float) -> None:
        """Give the critic a rate of its own, and adapt the policy's rate once in an iteration, without a limit."""
        self.schedule = "fixed"
        self.optimizer = torch.optim.Adam([
            {"params": list(self.actor.parameters()), "lr": self.learning_rate},
            {"params": list(self.critic.parameters()), "lr": critic_rate},
        ])  # fmt: skip

    def set_rate(self, rate: float) -> None:
        """Set the learning rate: that of the policy if the critic has its own, else that of both."""
        self.learning_rate = rate
        groups = self.optimizer.param_groups
        for group in groups[:1] if len(groups) > 1 else groups:
            group["lr"] = rate

    @torch.no_grad()
    def adapt_rate(self) -> None:
        """Move the policy's rate so that an iteration changes the policy by `desired_kl`."""
        before: Any = self.storage.distribution_params
        observations: Any = self.storage.observations
        self.actor(observations.flatten(0, 1), stochastic_output=True)
        now = self.actor.output_distribution_params
        self.change = float(self.actor.get_kl_divergence(tuple(part.flatten(0, 1) for part in before), now).mean())
        if self.change > 2 * self.desired_kl:
            self.set_rate(self.learning_rate / RATE_STEP)
        elif self.change < self.desired_kl / 2:
            self.set_rate(self.learning_rate * RATE_STEP)


class ClippedCritic(MLPModel):
    """A critic that limits normalised observations, so that a first contact force is no outlier of a thousand."""

    def get_latent(self, obs: TensorDict, masks: Tensor | None = None, hidden_state: Any = None) -> Tensor:
        return super().get_latent(obs, masks, hidden_state).clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)


class PpoTraining:
    """One training by PPO, iteration by iteration.

    Args:
        started: a trained policy to improve; its observations stay normalised as they are.
    """

    name = "ppo"

    def __init__(
        self, env: VectorTwinEnv, policy: MlpPolicy, config: ReinforceConfig, *, started: bool, device: str = "cpu"
    ):
        self.config, self._trained = config, policy
        self.policy = copy.deepcopy(policy) if config.averaged else policy
        seed_all(config.seed)
        self.model = PolicyModel(
            policy, env.groups.inputs, noise=config.noise, least=LEAST_NOISE * config.noise, most=1.0,
            normalise=not started,
        )  # fmt: skip
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
        self._obs = self._warm_up()

    def _warm_up(self) -> TensorDict:
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
        return self.env.get_observations()

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
            for _ in range(self.config.steps):
                actions = algorithm.act(self._obs)
                self._obs, rewards, dones, extras = self.env.step(actions)
                algorithm.process_env_step(self._obs, rewards, dones, extras)
            algorithm.compute_returns(self._obs)
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
        env = {name: torch.from_numpy(values) for name, values in self.env.env.state().items()}
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
        self.env.env.restore({name: value.numpy() for name, value in part_of(state, "env").items()})
        self._obs = self.env.get_observations()
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

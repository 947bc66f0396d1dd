"""LeashedPPO: PPO of rsl-rl with an optional leash, a rate for the critic, and recorded rollouts.

The leash adds -leash * (log pi(a|s) - log pi_0(a|s)) to the reward of every step, which is the KL divergence from the
first policy pi_0 on average (Ziegler et al., "Fine-Tuning Language Models from Human Preferences", 2019).
"""

from typing import Any

import torch
from rsl_rl.algorithms import PPO
from tensordict import TensorDict
from torch import Tensor

from twinloop.learn.reinforce.actor_model import PolicyModel

LOG_PROB = "actions_log_prob"
RATE_STEP = 1.5


class LeashedPPO(PPO):
    """PPO whose reward has a penalty for leaving a reference policy."""

    reference: PolicyModel | None = None
    leash = 0.0
    divergence = 0.0
    change = 0.0

    def act_recorded(self, obs: TensorDict, actions: Tensor) -> None:
        """Like `act`, with actions that the same actor has already taken."""
        self.act(obs)
        self.transition.actions = actions
        setattr(self.transition, LOG_PROB, self.actor.get_output_log_prob(actions).detach())

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

"""PolicyModel: an MlpPolicy with Gaussian exploration, as an actor of rsl-rl.

The actor's output is the mean of the executed part of an action chunk, in normalised actions. Exploration shifts all
actions of a chunk by one random offset. For a policy that executes one action at a time, this is ordinary exploration.

If the policy has a residual, the output is its shifts instead, and exploration is along the directions of the tool.
"""

from collections.abc import Mapping

import torch
from rsl_rl.modules.distribution import GaussianDistribution
from tensordict import TensorDict
from torch import Tensor, nn

from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.observe.recording import Feature

GROUP = "policy"
LEAST_NOISE, MOST_NOISE = 0.1, 1.0
"""Smallest standard deviation of exploration as a share of the initial one, and largest one."""
LEAST_STD = 1e-3
"""An input with a smaller standard deviation is not scaled."""


def split_inputs(flat: Tensor, features: tuple[Feature, ...]) -> dict[str, Tensor]:
    """Feature -> its columns of a flat observation."""
    parts = torch.split(flat, [feature.shape[0] for feature in features], dim=-1)
    return {feature.name: part for feature, part in zip(features, parts, strict=True)}


class PolicyModel(nn.Module):
    """The actor of PPO, or the student of a distillation.

    Args:
        features: the policy's inputs, in the order of the flat observation.
        noise: initial standard deviation of exploration.
        normalise: adapt the means and standard deviations of the inputs to the observations.
    """

    is_recurrent = False

    def __init__(
        self, policy: MlpPolicy, features: tuple[Feature, ...], *, noise: float, least: float, most: float,
        normalise: bool, group: str = GROUP,
    ):  # fmt: skip
        super().__init__()
        self.policy, self._features, self._normalise, self._group = policy, features, normalise, group
        residual = policy.residual
        self.size = size = (policy.code.get_buffer("mean") if residual is None else residual.get_buffer("basis")).shape[
            -1
        ]
        self.distribution = GaussianDistribution(size, init_std=noise, std_range=(least, most), std_type="log")
        columns = sum(feature.shape[0] for feature in features)
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(columns, dtype=torch.float64))
        self.register_buffer("square", torch.zeros(columns, dtype=torch.float64))

    def inputs(self, obs: TensorDict | Mapping[str, Tensor]) -> dict[str, Tensor]:
        return split_inputs(obs[self._group], self._features)

    def chunk(self, obs: TensorDict | Mapping[str, Tensor]) -> Tensor:
        """Return (n, executed, a) normalised actions, before the bound."""
        return self.policy.raw_code(self.inputs(obs), self._real(obs))[:, : self.policy.executed]

    def explored(self, obs: TensorDict | Mapping[str, Tensor], actions: Tensor) -> Tensor:
        """Return (n, executed, a) normalised actions of the chunks that the actor's outputs `actions` stand for."""
        policy = self.policy
        if policy.residual is not None:
            code = policy.head(policy.trunk(self.inputs(obs), self._real(obs)))[:, : policy.executed]
            return policy.shifted(code, actions)
        if policy.executed == 1:
            return actions[:, None, :]
        chunk = self.chunk(obs)
        return chunk - chunk.mean(dim=1, keepdim=True) + actions[:, None, :]

    def _real(self, obs: TensorDict | Mapping[str, Tensor]) -> Tensor:
        flat = obs[self._group]
        return torch.zeros(len(flat), device=flat.device)

    def forward(
        self, obs: TensorDict, masks: Tensor | None = None, hidden_state: object = None, stochastic_output: bool = False
    ) -> Tensor:
        del masks, hidden_state
        if self.policy.residual is None:
            mean = self.chunk(obs).mean(dim=1)
        else:
            mean = self.policy.shifts(self.inputs(obs), self._real(obs))
        if not stochastic_output:
            return mean
        self.distribution.update(mean)
        return self.distribution.sample()

    def reset(self, dones: Tensor | None = None, hidden_state: object = None) -> None:
        """Nothing to reset: the network has no memory."""

    def get_hidden_state(self) -> None:
        return None

    def detach_hidden_state(self, dones: Tensor | None = None) -> None:
        """Nothing to detach."""

    @property
    def output_std(self) -> Tensor:
        return self.distribution.std

    @property
    def output_entropy(self) -> Tensor:
        return self.distribution.entropy

    @property
    def output_distribution_params(self) -> tuple[Tensor, ...]:
        return self.distribution.params

    def get_output_log_prob(self, outputs: Tensor) -> Tensor:
        return self.distribution.log_prob(outputs)

    def get_kl_divergence(self, old_params: tuple[Tensor, ...], new_params: tuple[Tensor, ...]) -> Tensor:
        return self.distribution.kl_divergence(old_params, new_params)

    @torch.no_grad()
    def update_normalization(self, obs: TensorDict) -> None:
        """Adapt means and standard deviations of the inputs to all observations so far."""
        if not self._normalise:
            return
        values = obs[self._group].double()
        count, mean, square = (self.get_buffer(name) for name in ("count", "mean", "square"))
        count += len(values)
        mean += (values.mean(dim=0) - mean) * (len(values) / count)
        square += (values.square().mean(dim=0) - square) * (len(values) / count)
        std = (square - mean.square()).clamp(min=0).sqrt()
        std = torch.where(std < LEAST_STD, 1.0, std)
        first = 0
        for index, name in enumerate(self.policy.vectors.names):
            size = next(feature.shape[0] for feature in self._features if feature.name == name)
            part = slice(first, first + size)
            self.policy.vectors.get_buffer(f"mean{index}").copy_(mean[part])
            self.policy.vectors.get_buffer(f"std{index}").copy_(std[part])
            first += size


def exploring_actor(
    policy: MlpPolicy, features: tuple[Feature, ...], *, noise: float, normalise: bool
) -> PolicyModel:  # fmt: skip
    """The actor of PPO. Arguments as those of `PolicyModel`."""
    return PolicyModel(
        policy, features, noise=noise, least=LEAST_NOISE * noise, most=MOST_NOISE, normalise=normalise
    )  # fmt: skip

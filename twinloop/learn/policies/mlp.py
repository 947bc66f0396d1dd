"""mlp: regression of the whole chunk from the vectors of one observation. Small, fast, and strong on state inputs."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from twinloop.learn.policies._residual import ToolResidual
from twinloop.learn.policy import ActionCode, Policy, TensorBatch, VectorInputs
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space

BOUNDS = ("none", "clip", "tanh")
"""How normalised actions are kept between -1 and 1. Policies of reinforcement learning have bounded actions."""


class MlpPolicy(Policy):
    """Attributes:
    residual: shifts chunks along a few directions of the tool; None unless reinforcement has added it.
    """

    name = "mlp"

    def __init__(
        self, space: Space, scales: Scales, *, horizon: int = 16, executed: int = 8, width: int = 384, depth: int = 3,
        bound: str = "none", residual: int = 0,
    ):  # fmt: skip
        super().__init__()
        if bound not in BOUNDS:
            raise ValueError(f"bound is {bound!r}; one of {', '.join(BOUNDS)} was expected")
        if space.pictures:
            raise ValueError(f"mlp does not read images ({space.pictures[0].name}); use act or flow")
        self.horizon, self.executed, self._width, self._depth = horizon, executed, width, depth
        self.bound, self.features = bound, space.vectors
        self._actions = space.action.shape[0]
        self.vectors, self.code = VectorInputs(space, scales), ActionCode(space, scales)
        self.enter = nn.Linear(self.vectors.width, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(depth))
        self.leave = nn.Linear(width, horizon * self._actions)
        self.residual = ToolResidual(space, self.vectors.width, residual) if residual else None
        self._directions = residual

    def readers(self) -> list[tuple[VectorInputs, nn.Linear]]:
        # A residual clips the normalised inputs, so other scales would change what it does.
        return [(self.vectors, self.enter)] if self.residual is None else []

    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:  # noqa: ARG002 - draws nothing
        wanted = self.code.encode(batch.actions, batch.inputs)
        # Absolute error instead of squared: if two demonstrations differ, their mean need not be a valid action.
        return (self.bounded(self.raw_code(batch.inputs, batch.real)) - wanted).abs().mean()

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:  # noqa: ARG002
        return self.code.decode(self.bounded(self.raw_code(inputs, real)), inputs)

    def bounded(self, code: Tensor) -> Tensor:
        """Return normalised actions with the policy's bound."""
        if self.bound == "none":
            return code
        return code.tanh() if self.bound == "tanh" else code.clamp(-1.0, 1.0)

    def raw_code(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        """Return (n, horizon, a) normalised actions, before the bound."""
        code = self.head(self.trunk(inputs, real))
        return code if self.residual is None else self.shifted(code, self.shifts(inputs, real))

    def shifts(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        """Return (n, directions) the shifts of the residual."""
        assert self.residual is not None
        return self.residual(inputs, self.vectors(inputs, real))

    def shifted(self, code: Tensor, shifts: Tensor) -> Tensor:
        """Return normalised actions (n, up to horizon, a) with the offsets of the shifts."""
        assert self.residual is not None
        std = self.code.get_buffer("std")[: code.shape[1]]
        return code + self.residual.offsets(shifts)[:, None] / std

    def trunk(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        """Return (n, width) the activations before the last layer."""
        hidden = self.enter(self.vectors(inputs, real))
        for block in self.blocks:
            hidden = block(hidden)
        return hidden

    def head(self, hidden: Tensor) -> Tensor:
        return self.leave(hidden).unflatten(1, (self.horizon, self._actions))

    def settings(self) -> dict[str, Any]:
        settings = {"horizon": self.horizon, "executed": self.executed, "width": self._width, "depth": self._depth}
        return {**settings, "bound": self.bound, "residual": self._directions}


class _Block(nn.Module):
    """A residual block. The norm keeps deep stacks trainable at high learning rates."""

    def __init__(self, width: int):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.down(nn.functional.gelu(self.up(self.norm(hidden))))

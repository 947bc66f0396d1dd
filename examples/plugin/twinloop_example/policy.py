"""linear: one linear layer from the observation to the action chunk. A baseline."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

import twinloop as tl
from twinloop.learn.policy import ActionCode, TensorBatch, VectorInputs
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space


class Linear(tl.Policy):
    name = "linear"

    def __init__(self, space: Space, scales: Scales, *, horizon: int = 8, executed: int = 4):
        super().__init__()
        self.horizon, self.executed = horizon, executed
        self.vectors, self.code = VectorInputs(space, scales), ActionCode(space, scales)
        self.layer = nn.Linear(self.vectors.width, horizon * space.action.shape[0])

    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """Mean absolute error in units of the action's standard deviation."""
        return (self._code(batch.inputs, batch.real) - self.code.encode(batch.actions, batch.inputs)).abs().mean()

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:  # noqa: ARG002
        return self.code.decode(self._code(inputs, real), inputs)

    def _code(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        return self.layer(self.vectors(inputs, real)).unflatten(1, (self.horizon, -1))

    def settings(self) -> dict[str, Any]:
        return {"horizon": self.horizon, "executed": self.executed}

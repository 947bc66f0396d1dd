"""act: a transformer that reads an observation as tokens and answers with a chunk, a query an action.

The tokens are one for each vector of the observation and a grid for each camera. There is no style variable as in the
first policies of this name: a latent that is zero when it acts gives one answer to one observation, which regression
gives without it; where demonstrations go several ways, `flow` draws one. The instruction is not read: all its data is
of one task, and a policy of several would add a token here.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from twinloop.learn.policies._attention import DecoderLayer, EncoderLayer
from twinloop.learn.policies._image_encoder import ImageEncoder
from twinloop.learn.policy import ActionCode, Policy, TensorBatch, VectorInputs
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space


class ActPolicy(Policy):
    """width: of a token. image_size: pixels a side of what it sees. shift_px: how far pictures are moved about in
    training."""

    name = "act"

    def __init__(
        self,
        space: Space,
        scales: Scales,
        *,
        horizon: int = 16,
        executed: int = 8,
        width: int = 128,
        heads: int = 4,
        encoder_layers: int = 2,
        decoder_layers: int = 1,
        image_size: int = 96,
        shift_px: int = 4,
    ):
        super().__init__()
        self.horizon, self.executed, self.image_size = horizon, executed, image_size
        self._settings = {
            "width": width, "heads": heads, "encoder_layers": encoder_layers, "decoder_layers": decoder_layers,
            "image_size": image_size, "shift_px": shift_px,
        }  # fmt: skip
        # One for each vector; a policy that reads pictures alone has one that says only whether they are real.
        alone = [replace(space, inputs=(feature,)) for feature in space.vectors] or [replace(space, inputs=())]
        vectors = [VectorInputs(each, scales) for each in alone]
        self.vectors, self.code = nn.ModuleList(vectors), ActionCode(space, scales)
        self.enter = nn.ModuleList(_enter(each.width, width) for each in vectors)
        self.sight = ImageEncoder(space, width=width, image_size=image_size, shift_px=shift_px)
        self.encoder = nn.ModuleList(EncoderLayer(width, heads) for _ in range(encoder_layers))
        self.queries = nn.Parameter(0.5 * torch.randn(horizon, width))
        self.decoder = nn.ModuleList(DecoderLayer(width, heads) for _ in range(decoder_layers))
        self.norm, self.remembered = nn.LayerNorm(width), nn.LayerNorm(width)
        self.leave = nn.Linear(width, space.action.shape[0])

    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:
        code = self._code(batch.inputs, batch.real, generator if self.training else None)
        # Absolute, as in mlp: between two ways of doing it lies none.
        return (code - self.code.encode(batch.actions, batch.inputs)).abs().mean()

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:  # noqa: ARG002
        return self.code.decode(self._code(inputs, real, None), inputs)

    def _code(self, inputs: Mapping[str, Tensor], real: Tensor, generator: torch.Generator | None) -> Tensor:
        paired = zip(self.enter, self.vectors, strict=True)
        memory = torch.stack([enter(vectors(inputs, real)) for enter, vectors in paired], dim=1)
        seen = self.sight(inputs, generator)
        if seen is not None:
            memory = torch.cat([memory, seen], dim=1)
        for layer in self.encoder:
            memory = layer(memory)
        memory = self.remembered(memory)
        # The first token has looked at all others: queries that know it from the start learn faster.
        hidden = self.queries + memory[:, :1]
        for layer in self.decoder:
            hidden = layer(hidden, memory)
        return self.leave(self.norm(hidden))

    def settings(self) -> dict[str, Any]:
        return {"horizon": self.horizon, "executed": self.executed, **self._settings}


def _enter(count: int, width: int) -> nn.Module:
    """From the numbers of a vector to its token; not linear, since attention alone is slow to learn products."""
    return nn.Sequential(nn.Linear(count, width), nn.GELU(), nn.Linear(width, width))

"""act: a transformer that maps the tokens of an observation to an action chunk, with one query per action.

There is one token per vector of the observation and one per camera, or a grid of them. Unlike the original ACT, there
is no style variable: with a latent of zero at inference, one observation gives one chunk, as plain regression does. For
multimodal demonstrations, `flow` draws one of the modes. The instruction is a vector like others, where it is an input.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from twinloop.learn.policies._attention import DecoderLayer, EncoderLayer
from twinloop.learn.policies._vision import vision
from twinloop.learn.policy import ActionCode, LabelTensors, Policy, TensorBatch, VectorInputs, normal_parameter
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space


class ActPolicy(Policy):
    """The transformer policy.

    Args:
        width: size of a token.
        image_size: pixels per side of the images it reads.
        backbone: `keypoints` or `grid`, which reads RGB only.
        landmarks: names of the things whose pixels and poses are auxiliary targets, with commas. Training takes those
            that the data has labels of.
        auxiliary: weight of the auxiliary losses.
        shift_px, colour, cutout, blur: strengths of the augmentation (`learn/augment.py`).
    """

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
        backbone: str = "keypoints",
        landmarks: str = "",
        tool_joints: str = "",
        auxiliary: float = 1.0,
        shift_px: int = 4,
        colour: float = 0.2,
        cutout: float = 0.2,
        blur: float = 0.5,
    ):
        super().__init__()
        self.horizon, self.executed, self.image_size = horizon, executed, image_size
        self._settings = {
            "width": width, "heads": heads, "encoder_layers": encoder_layers, "decoder_layers": decoder_layers,
            "image_size": image_size, "backbone": backbone, "landmarks": landmarks,
            "tool_joints": tool_joints, "auxiliary": auxiliary, "shift_px": shift_px, "colour": colour,
            "cutout": cutout, "blur": blur,
        }  # fmt: skip
        # One token per vector; a policy that reads only images has one token with the `real` flag.
        alone = [replace(space, inputs=(feature,)) for feature in space.vectors] or [replace(space, inputs=())]
        vectors = [VectorInputs(subspace, scales) for subspace in alone]
        self.vectors, self.code = nn.ModuleList(vectors), ActionCode(space, scales)
        self.enter = nn.ModuleList(_enter(vector.width, width) for vector in vectors)
        self.sight = vision(space, scales, width=width, settings=self._settings)
        self.encoder = nn.ModuleList(EncoderLayer(width, heads) for _ in range(encoder_layers))
        self.queries = normal_parameter(horizon, width, std=0.5)
        self.decoder = nn.ModuleList(DecoderLayer(width, heads) for _ in range(decoder_layers))
        self.norm, self.remembered = nn.LayerNorm(width), nn.LayerNorm(width)
        self.leave = nn.Linear(width, space.action.shape[0])

    def readers(self) -> list[tuple[VectorInputs, nn.Linear]]:
        pairs = zip(self.vectors, self.enter, strict=True)
        return [
            (cast(VectorInputs, vectors), cast(nn.Linear, cast(nn.Sequential, enter)[0])) for vectors, enter in pairs
        ]

    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:
        labels = batch.labels if self.training else None
        code, auxiliary = self._code(batch.inputs, batch.real, labels, generator if self.training else None)
        # Absolute error, as in mlp: the mean of two valid actions need not be valid.
        loss = (code - self.code.encode(batch.actions, batch.inputs)).abs().mean()
        return loss if auxiliary is None else loss + auxiliary

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:  # noqa: ARG002
        return self.code.decode(self._code(inputs, real)[0], inputs)

    def _code(
        self, inputs: Mapping[str, Tensor], real: Tensor, labels: LabelTensors | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        paired = zip(self.enter, self.vectors, strict=True)
        memory = torch.stack([enter(vectors(inputs, real)) for enter, vectors in paired], dim=1)
        seen, auxiliary = self.sight(inputs, real, labels, generator)
        if seen is not None:
            memory = torch.cat([memory, seen], dim=1)
        for layer in self.encoder:
            memory = layer(memory)
        memory = self.remembered(memory)
        # The first token has attended to all others; adding it to the queries speeds up learning.
        hidden = self.queries + memory[:, :1]
        for layer in self.decoder:
            hidden = layer(hidden, memory)
        return self.leave(self.norm(hidden)), auxiliary

    def settings(self) -> dict[str, Any]:
        return {"horizon": self.horizon, "executed": self.executed, **self._settings}


def _enter(count: int, width: int) -> nn.Module:
    """Return the network from a vector to its token. It is nonlinear, since attention alone learns products slowly."""
    return nn.Sequential(nn.Linear(count, width), nn.GELU(), nn.Linear(width, width))

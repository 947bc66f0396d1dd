"""flow: samples an action chunk instead of averaging. If demonstrations go left and right, it goes left or right.

Rectified flow: on the line from noise to a demonstrated chunk, x(t) = (1 - t) noise + t chunk for t from 0 to 1, a
network predicts the end of the line from x(t) and the observation. Inference starts at the given noise and follows the
velocity (end - x) / (1 - t) in a few equal steps; the last step reaches the network's prediction. The network learns
the end and not the velocity, because the velocity is mostly noise, which the network would have to copy. The noise
determines the chunk: the same noise gives the same chunk.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from twinloop.learn.policies._vision import vision
from twinloop.learn.policy import ActionCode, LabelTensors, Policy, TensorBatch, VectorInputs
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space

SEEN_WIDTH = 32
"""Size of a token of the backbone `grid`. All tokens are concatenated, not pooled, so that positions are preserved."""

POINTS_WIDTH = 128
"""Size of a token of the backbone `keypoints`, which has only one per camera."""

WAVES = 16


class FlowPolicy(Policy):
    """The flow policy. steps: integration steps from noise to chunk. The settings of images are those of act."""

    name = "flow"
    default_image_batch = 128

    def __init__(
        self,
        space: Space,
        scales: Scales,
        *,
        horizon: int = 16,
        executed: int = 8,
        width: int = 384,
        depth: int = 3,
        steps: int = 8,
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
        self.horizon, self.executed, self.image_size, self._steps = horizon, executed, image_size, steps
        self._settings = {
            "width": width, "depth": depth, "steps": steps,
            "image_size": image_size, "backbone": backbone, "landmarks": landmarks,
            "tool_joints": tool_joints, "auxiliary": auxiliary, "shift_px": shift_px, "colour": colour,
            "cutout": cutout, "blur": blur,
        }  # fmt: skip
        self._actions = space.action.shape[0]
        size = horizon * self._actions
        self.vectors, self.code = VectorInputs(space, scales), ActionCode(space, scales)
        token = SEEN_WIDTH if backbone == "grid" else POINTS_WIDTH
        self.sight = vision(space, scales, width=token, settings=self._settings)
        self.observe = nn.Sequential(
            nn.Linear(self.vectors.width + token * self.sight.tokens, width), nn.GELU(), nn.Linear(width, width)
        )
        self.register_buffer("waves", math.pi * torch.exp(torch.linspace(0, math.log(32), WAVES)))
        self.when = nn.Linear(2 * WAVES, width)
        self.enter = nn.Linear(size, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(depth))
        self.norm, self.leave = nn.LayerNorm(width), nn.Linear(width, size)

    def readers(self) -> list[tuple[VectorInputs, nn.Linear]]:
        return [(self.vectors, cast(nn.Linear, self.observe[0]))]

    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:
        wanted = self.code.encode(batch.actions, batch.inputs).flatten(1)
        count = len(wanted)
        # Stratified sampling: one time from each of n equal intervals, so every batch has early and late times.
        time = ((torch.arange(count) + torch.rand(count, generator=generator)) / count)[:, None].to(wanted.device)
        noise = torch.randn(wanted.shape, generator=generator).to(wanted.device)
        labels = batch.labels if self.training else None
        seen, auxiliary = self._observed(batch.inputs, batch.real, labels, generator if self.training else None)
        end = self._end((1 - time) * noise + time * wanted, time, seen)
        loss = (end - wanted).square().mean()
        return loss if auxiliary is None else loss + auxiliary

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:
        seen, chunk = self._observed(inputs, real)[0], noise.flatten(1)
        for step in range(self._steps):
            end = self._end(chunk, torch.full_like(chunk[:, :1], step / self._steps), seen)
            chunk = chunk + (end - chunk) / (self._steps - step)
        return self.code.decode(chunk.unflatten(1, (self.horizon, self._actions)), inputs)

    def _observed(
        self, inputs: Mapping[str, Tensor], real: Tensor, labels: LabelTensors | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        vectors, (seen, auxiliary) = self.vectors(inputs, real), self.sight(inputs, real, labels, generator)
        together = vectors if seen is None else torch.cat([vectors, seen.flatten(1)], dim=1)
        return self.observe(together), auxiliary

    def _end(self, chunk: Tensor, time: Tensor, seen: Tensor) -> Tensor:
        angle = time * self.get_buffer("waves")
        condition = seen + self.when(torch.cat([angle.sin(), angle.cos()], dim=1))
        hidden = self.enter(chunk) + condition
        condition = gelu(condition)
        for block in self.blocks:
            hidden = block(hidden, condition)
        return self.leave(self.norm(hidden))

    def settings(self) -> dict[str, Any]:
        return {"horizon": self.horizon, "executed": self.executed, **self._settings}


class _Block(nn.Module):
    """A residual block conditioned on the observation and the time."""

    def __init__(self, width: int):
        super().__init__()
        # `told` is a key of the weights in existing checkpoints.
        self.norm, self.up, self.told = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, hidden: Tensor, condition: Tensor) -> Tensor:
        return hidden + self.down(gelu(self.up(self.norm(hidden)) + self.told(condition)))

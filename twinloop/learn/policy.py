"""Policy: a network that maps an observation to an action chunk. The three kinds are in one file each.

This module has the common parts: inputs are normalised, quaternions become two axes of the rotation (without sign
ambiguity), and actions are learned relative to the joint's position where that makes them smaller.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from twinloop.learn.mixture import Batch
from twinloop.learn.resample import quaternion_starts
from twinloop.learn.scales import UNSCALED, Scales
from twinloop.learn.space import Space

DEPTH_M = (0.05, 5.0)
"""Range of depths, on a logarithmic scale from 0 to 1. A pixel without depth is 0."""

NO_DEPTH_M = 0.011
"""Stored depth of a pixel without a value, and a little more."""


@dataclass(frozen=True)
class LabelTensors:
    """`FreeLabels` as tensors: poses (n, landmarks, 5), and for each image pixels (n, landmarks + 1, 2). May be NaN."""

    poses: Tensor
    pixels: Mapping[str, Tensor]


@dataclass(frozen=True)
class TensorBatch:
    """A `mixture.Batch` as tensors. Images are (n, channels, height, width) float, see `picture_tensor`."""

    inputs: Mapping[str, Tensor]
    actions: Tensor
    real: Tensor
    tasks: Sequence[str]
    labels: LabelTensors | None = None


def to_tensor(values: np.ndarray, device: torch.device | str = "cpu") -> Tensor:
    """Convert (n, d) numbers to float32, or (n, height, width, channels) images to the network's input."""
    if values.ndim == 4:
        return picture_tensor(torch.from_numpy(values).to(device))
    return torch.from_numpy(np.asarray(values, np.float32)).to(device)


def picture_tensor(pixels: Tensor) -> Tensor:
    """Convert images to the network's input. Training, inference and export all use this function.

    RGB bytes become 0 to 1, depth in metres (floats) a logarithmic scale from 0 to 1, and masks keep their ids.
    """
    images = pixels.permute(0, 3, 1, 2).float()
    if pixels.shape[3] == 3:
        return images / 255
    if not pixels.dtype.is_floating_point:
        return images
    near, far = DEPTH_M
    scaled = (images.clamp(near, far) / near).log() / math.log(far / near)
    return torch.where(images > NO_DEPTH_M, scaled, 0.0)


def tensors_of(batch: Batch, device: torch.device | str = "cpu") -> TensorBatch:
    inputs = {name: to_tensor(values, device) for name, values in batch.inputs.items()}
    labels = None
    if batch.labels is not None:
        pixels = {name: to_tensor(values, device) for name, values in batch.labels.pixels.items()}
        labels = LabelTensors(to_tensor(batch.labels.poses, device), pixels)
    return TensorBatch(inputs, to_tensor(batch.actions, device), to_tensor(batch.real, device), batch.tasks, labels)


def normal_parameter(*shape: int, std: float) -> nn.Parameter:
    """Return a parameter with normally distributed initial values."""
    values = torch.empty(*shape)
    # Without memory (`checkpoint.load`) there is nothing to draw, and drawing would import a compiler for 1.5 s.
    return nn.Parameter(values if values.is_meta else nn.init.normal_(values, std=std))


class VectorInputs(nn.Module):
    """Returns (n, width): all vectors of an observation, normalised, and the `real` flag."""

    def __init__(self, space: Space, scales: Scales):
        super().__init__()
        self.names = [feature.name for feature in space.vectors]
        self._quaternions = {feature.name: quaternion_starts(feature) for feature in space.vectors}
        self.width = 1
        for index, feature in enumerate(space.vectors):
            mean, std = scales.inputs[feature.name]
            self.register_buffer(f"mean{index}", torch.tensor(mean))
            self.register_buffer(f"std{index}", torch.tensor(std))
            self.width += feature.shape[0] + 2 * len(self._quaternions[feature.name])

    def forward(self, inputs: Mapping[str, Tensor], real: Tensor) -> Tensor:
        columns = [real[:, None]]
        for index, name in enumerate(self.names):
            values = inputs[name]
            plain = (values - self.get_buffer(f"mean{index}")) / self.get_buffer(f"std{index}")
            done = 0
            for start in self._quaternions[name]:
                columns += [plain[:, done:start], _two_axes(values[:, start : start + 4])]
                done = start + 4
            columns.append(plain[:, done:])
        return torch.cat(columns, dim=1)

    def rescale(self, scales: Scales, layer: nn.Linear) -> None:
        """Take the scales of other data, where these values vary more. The output of `layer` does not change.

        A value that was constant in the earlier data is not scaled, so a layer would hardly see it vary.

        Args:
            layer: reads the output of this module in its first columns.
        """
        column = 1
        with torch.no_grad():
            for index, name in enumerate(self.names):
                mean, std = self.get_buffer(f"mean{index}"), self.get_buffer(f"std{index}")
                new_mean, new_std = (torch.tensor(values, device=mean.device) for values in scales.inputs[name])
                turned = {start + part for start in self._quaternions[name] for part in range(4)}
                for place in range(len(mean)):
                    if place in turned:
                        column += 6 if place in self._quaternions[name] else 0
                        continue
                    old, new = float(std[place]), float(new_std[place])
                    if new != UNSCALED and (old == UNSCALED or new > old):
                        weights = layer.weight[:, column]
                        layer.bias.add_(weights * (new_mean[place] - mean[place]) / old)
                        weights.mul_(new / old)
                        mean[place], std[place] = new_mean[place], new
                    column += 1

    def examples(self, count: int, *, generator: torch.Generator) -> dict[str, Tensor]:
        """Return random vectors with the mean and standard deviation of the data."""
        inputs = {}
        for index, name in enumerate(self.names):
            mean, std = self.get_buffer(f"mean{index}"), self.get_buffer(f"std{index}")
            inputs[name] = mean + std * torch.randn(count, len(mean), generator=generator)
            for start in self._quaternions[name]:
                inputs[name][:, start : start + 4] = nn.functional.normalize(inputs[name][:, start : start + 4])
        return inputs


def _two_axes(quaternions: Tensor) -> Tensor:
    """Return (n, 6) the x and y axes of the rotations w, x, y, z. They are the same for q and -q."""
    w, x, y, z = quaternions.unbind(dim=1)
    return torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y),
        2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
    ], dim=1)  # fmt: skip


class ActionCode(nn.Module):
    """Converts between actions in their units and the network's output: normalised, relative where that is smaller."""

    def __init__(self, space: Space, scales: Scales):
        super().__init__()
        self._vector, state = space.joints
        # A matrix instead of an index, so that elements without a joint get an origin of 0.
        pick = torch.zeros(len(state), space.action.shape[0])
        for column, name in enumerate(space.action.names):
            if scales.relative[column]:
                pick[state.index(name), column] = 1
        self.register_buffer("pick", pick)
        self.register_buffer("mean", torch.tensor(scales.action[0]))
        self.register_buffer("std", torch.tensor(scales.action[1]))

    def encode(self, actions: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
        return (actions - self._origin(inputs) - self.get_buffer("mean")) / self.get_buffer("std")

    def decode(self, code: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
        return code * self.get_buffer("std") + self.get_buffer("mean") + self._origin(inputs)

    def _origin(self, inputs: Mapping[str, Tensor]) -> Tensor | float:
        pick = self.get_buffer("pick")
        return (inputs[self._vector] @ pick)[:, None, :] if pick.shape[0] else 0.0


class Policy(nn.Module, ABC):
    """A network that maps observations to action chunks.

    Subclasses implement `loss`, `forward` and `settings`; examples/plugin has a small one.

    Attributes:
        horizon: actions in a chunk.
        executed: how many of them are executed before the next inference.
        image_size: pixels per side of the images it reads; 0 if it reads none.
        default_batch, default_image_batch: frames in a training batch, without and with images. Chosen so that a step
            takes about 0.2 CPU seconds or less (benchmarks/training_steps.py).

    Example:
        >>> policy = tl.Checkpoint.load("policies/demo").policy
        >>> isinstance(policy, tl.Policy), policy.horizon, policy.executed
        (True, 16, 8)
    """

    name: ClassVar[str]
    default_batch: ClassVar[int] = 512
    default_image_batch: ClassVar[int] = 64
    horizon: int
    executed: int
    image_size: int = 0

    @abstractmethod
    def loss(self, batch: TensorBatch, *, generator: torch.Generator) -> Tensor:
        """Return the training loss: a mean over the batch."""

    @abstractmethod
    def forward(self, inputs: Mapping[str, Tensor], real: Tensor, noise: Tensor) -> Tensor:
        """Return (n, horizon, a) actions in their units. noise: of that shape, for policies that sample."""

    def readers(self) -> list[tuple[VectorInputs, nn.Linear]]:
        """Return inputs and the layer that reads them, for `rescale`. Without any, fine-tuning keeps all scales."""
        return []

    def rescale(self, scales: Scales) -> None:
        """Take the scales of other data for inputs that vary more there. The actions of the policy do not change."""
        for vectors, layer in self.readers():
            vectors.rescale(scales, layer)

    @classmethod
    def batch_for(cls, space: Space) -> int:
        """Default number of frames in a training batch, for these inputs."""
        return cls.default_image_batch if space.pictures else cls.default_batch

    @classmethod
    def default_settings(cls) -> dict[str, Any]:
        """Every setting the constructor takes, with its default."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the constructor's settings, for the card: `type(self)(space, scales, **settings)` builds it again."""

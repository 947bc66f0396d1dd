"""ImageEncoder: the backbone `grid`, a small convolutional network that turns RGB images into a grid of tokens."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from twinloop.learn.augment import shifted
from twinloop.learn.policy import LabelTensors, normal_parameter
from twinloop.learn.space import Space

CELL_PX = 16
"""Pixels per side of the image patch of one token."""


class ImageEncoder(nn.Module):
    """Returns (n, cameras * cells, width): each camera's image as a grid of tokens with position embeddings.

    All cameras share the convolutions; each camera has its own position embeddings. Without cameras there are no
    tokens and the output is None.
    """

    def __init__(self, space: Space, *, width: int, image_size: int, shift_px: int):
        super().__init__()
        if image_size < CELL_PX or image_size % CELL_PX:
            raise ValueError(f"image_size: {image_size} was given; a multiple of {CELL_PX} was expected")
        for feature in space.pictures:
            if feature.dtype != "video":
                raise ValueError(f"{feature.name}: the backbone `grid` reads RGB only; use --set backbone=keypoints")
        self._names = [feature.name for feature in space.pictures]
        self._shift_px = shift_px
        self.tokens = len(self._names) * (image_size // CELL_PX) ** 2
        if self._names:
            self.convolve = nn.Sequential(
                nn.Conv2d(3, 32, 8, stride=4, padding=2), nn.GroupNorm(4, 32), nn.GELU(),
                nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(8, 64), nn.GELU(),
                nn.Conv2d(64, width, 3, stride=2, padding=1),
            )  # fmt: skip
            self.place = normal_parameter(self.tokens, width, std=0.02)

    def forward(
        self, inputs: Mapping[str, Tensor], real: Tensor, labels: LabelTensors | None = None,  # noqa: ARG002
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor | None, None]:  # fmt: skip
        """Return the tokens. With a generator, images are shifted randomly by a few pixels (augmentation)."""
        if not self._names:
            return None, None
        seen = []
        for name in self._names:
            picture = inputs[name]
            if generator is not None and self._shift_px:
                picture = shifted(picture, self._shift_px, generator=generator)
            seen.append(self.convolve(2 * picture - 1).flatten(2).transpose(1, 2))
        return torch.cat(seen, dim=1) + self.place, None

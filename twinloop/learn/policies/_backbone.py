"""Backbone: a small convolutional network for images of 64 to 128 pixels, made for training on a CPU.

Features have a quarter of the image's resolution. A second scale with half of that adds context.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, interpolate

CELL_PX = 4
"""Pixels per side of one cell of the features."""

NARROW, WIDE = 32, 64


class Backbone(nn.Module):
    """Returns (n, `width`, side / 4, side / 4) features of (n, channels, side, side) images in 0 to 1."""

    width = NARROW
    precision: torch.dtype | None = None
    """With a dtype, convolutions run in it (autocast)."""

    def __init__(self, channels: int):
        super().__init__()
        self.enter = nn.Conv2d(channels, NARROW, 8, stride=CELL_PX, padding=2)
        self.norm = nn.GroupNorm(4, NARROW)
        self.fine = _Residual(NARROW)
        self.down = nn.Conv2d(NARROW, WIDE, 3, stride=2, padding=1)
        self.coarse = nn.Sequential(_Residual(WIDE), _Residual(WIDE))
        self.up = nn.Conv2d(WIDE, NARROW, 1)
        self.merge = _Residual(NARROW)

    def forward(self, images: Tensor) -> Tensor:
        if self.precision is None:
            return self._features(images)
        with torch.autocast(images.device.type, self.precision):
            return self._features(images).float()

    def _features(self, images: Tensor) -> Tensor:
        images = (2 * images - 1).contiguous(memory_format=torch.channels_last)
        fine = self.fine(gelu(self.norm(self.enter(images))))
        coarse = self.coarse(self.down(fine))
        raised = interpolate(self.up(coarse), size=fine.shape[2:], mode="nearest")
        return self.merge(fine + raised)


class _Residual(nn.Module):
    """A normalised convolution pair with a residual connection."""

    def __init__(self, width: int):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norm = nn.GroupNorm(width // 8, width)

    def forward(self, features: Tensor) -> Tensor:
        return features + self.second(gelu(self.first(self.norm(features))))

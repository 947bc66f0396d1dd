"""Reading pictures between their pixels, for stages that move things: lens, shutter, depth jitter."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Between:
    """n places between pixels: the upper left of the four around each, and how far across and down of it it lies."""

    width: int
    first: np.ndarray
    across: np.ndarray
    down: np.ndarray

    def read(self, image: np.ndarray) -> np.ndarray:
        """(n, c) bilinear values of an (h, w, c) image. One image at a time: that is what stays in the cache."""
        pixels = image.reshape(-1, image.shape[-1])
        upper = pixels.take(self.first, axis=0)
        upper += (pixels.take(self.first + 1, axis=0) - upper) * self.across
        below = self.first + self.width
        lower = pixels.take(below, axis=0)
        lower += (pixels.take(below + 1, axis=0) - lower) * self.across
        return upper + (lower - upper) * self.down


def between(u: np.ndarray, v: np.ndarray, height: int, width: int) -> Between:
    """Places at (n,) pixel coordinates; beyond the edge, the edge."""
    x, y = np.clip(u - 0.5, 0, width - 1), np.clip(v - 0.5, 0, height - 1)
    left, top = np.minimum(x.astype(np.intp), width - 2), np.minimum(y.astype(np.intp), height - 2)
    across, down = (x - left).astype(np.float32)[:, None], (y - top).astype(np.float32)[:, None]
    return Between(width, top * width + left, across, down)


def nearest(images: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Values of (f, h, w) or (f, h, w, c) images at pixel coordinates (f or 1, ...), for what must not be mixed:
    depth, identities, velocities. Beyond the edge, the edge."""
    height, width = images.shape[1:3]
    columns = np.clip(np.floor(u).astype(int), 0, width - 1)
    rows = np.clip(np.floor(v).astype(int), 0, height - 1)
    return images[np.arange(len(images))[:, None, None], rows, columns]

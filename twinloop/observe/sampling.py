"""Reading pictures between their pixels, for stages that move things: lens, shutter, depth jitter."""

import numpy as np


def bilinear(images: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(f, h, w, c) values of (f, h, w, c) images at pixel coordinates (f or 1, h, w); beyond the edge, the edge."""
    height, width = images.shape[1:3]
    x, y = np.clip(u - 0.5, 0, width - 1), np.clip(v - 0.5, 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    across, down = (x - left)[..., None].astype(np.float32), (y - top)[..., None].astype(np.float32)
    frames = np.arange(len(images))[:, None, None]
    upper = images[frames, top, left] * (1 - across) + images[frames, top, left + 1] * across
    lower = images[frames, top + 1, left] * (1 - across) + images[frames, top + 1, left + 1] * across
    return upper * (1 - down) + lower * down


def nearest(images: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """As `bilinear`, for what must not be mixed: depth, identities, velocities. (f, h, w) or (f, h, w, c)."""
    height, width = images.shape[1:3]
    columns = np.clip(np.floor(u).astype(int), 0, width - 1)
    rows = np.clip(np.floor(v).astype(int), 0, height - 1)
    return images[np.arange(len(images))[:, None, None], rows, columns]

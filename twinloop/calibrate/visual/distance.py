"""Sliced Wasserstein distance between small patches of two sets of frames, in levels of 255."""

from collections.abc import Sequence

import numpy as np

PATCH_PX = 5
PATCHES, DIRECTIONS = 20_000, 96


def distance(frames: Sequence[np.ndarray], others: Sequence[np.ndarray], *, rng: np.random.Generator) -> float:
    """Mean Wasserstein-1 distance of the patches of both sets, over random directions.

    Patches contain brightness, colour, noise and sharpness together. Directions have unit length, so the distance is
    about the RMS change of a pixel.
    """
    first, second = _patches(frames, rng), _patches(others, rng)
    directions = rng.standard_normal((first.shape[1], DIRECTIONS))
    # Half of the directions use only the means of a patch; otherwise details would hide brightness and colour.
    flat = np.repeat(rng.standard_normal((3, DIRECTIONS // 2)), PATCH_PX * PATCH_PX, axis=0)
    directions[:, : DIRECTIONS // 2] = flat
    directions /= np.linalg.norm(directions, axis=0)
    ordered = [np.sort(heap @ directions, axis=0) for heap in (first, second)]
    return float(np.abs(ordered[0] - ordered[1]).mean())


def _patches(frames: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """(PATCHES, 3 · 25) red, green and blue values of patches, the same number from each frame."""
    per_frame = -(-PATCHES // len(frames))
    patches = []
    for frame in frames:
        windows = np.lib.stride_tricks.sliding_window_view(frame, (PATCH_PX, PATCH_PX), axis=(0, 1))
        rows = rng.integers(windows.shape[0], size=per_frame)
        columns = rng.integers(windows.shape[1], size=per_frame)
        patches.append(windows[rows, columns].reshape(per_frame, -1))
    return np.concatenate(patches)[:PATCHES].astype(float)

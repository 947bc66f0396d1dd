"""How far two heaps of frames are apart: the sliced Wasserstein distance of their small patches, in levels."""

from collections.abc import Sequence

import numpy as np

PATCH_PX = 5
PATCHES, DIRECTIONS = 20_000, 96


def distance(some: Sequence[np.ndarray], others: Sequence[np.ndarray], *, rng: np.random.Generator) -> float:
    """Mean over random directions of the distance that patches of one heap must be moved to become the other's.

    Patches hold brightness, colour, noise and sharpness at once; directions are weighed so that it is about the root
    mean square of the change of a pixel.
    """
    first, second = _patches(some, rng), _patches(others, rng)
    directions = rng.standard_normal((first.shape[1], DIRECTIONS))
    # Half the directions look at means of the patch only: brightness and colour would drown among details.
    flat = np.repeat(rng.standard_normal((3, DIRECTIONS // 2)), PATCH_PX * PATCH_PX, axis=0)
    directions[:, : DIRECTIONS // 2] = flat
    directions /= np.linalg.norm(directions, axis=0)
    ordered = [np.sort(heap @ directions, axis=0) for heap in (first, second)]
    return float(np.abs(ordered[0] - ordered[1]).mean())


def _patches(frames: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """(PATCHES, 3 · 25): red, green, blue, drawn evenly from all frames."""
    each = -(-PATCHES // len(frames))
    found = []
    for frame in frames:
        windows = np.lib.stride_tricks.sliding_window_view(frame, (PATCH_PX, PATCH_PX), axis=(0, 1))
        rows = rng.integers(windows.shape[0], size=each)
        columns = rng.integers(windows.shape[1], size=each)
        found.append(windows[rows, columns].reshape(each, -1))
    return np.concatenate(found)[:PATCHES].astype(float)

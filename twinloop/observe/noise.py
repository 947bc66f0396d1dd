"""Fast normal noise for images, which need hundreds of thousands of numbers per frame."""

from functools import cache
from math import prod
from statistics import NormalDist

import numpy as np

LEVELS = 4096
STEP = np.uint32(0x9E3779B9)
FIRST_FACTOR, SECOND_FACTOR = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
"""Odd numbers that mix the bits of a position well."""


class NormalStream:
    """A stream of normal numbers. Several streams of one generator are independent.

    Random bits are a hash of two keys and the position in the stream, so that they can be computed where they are
    needed, in any order. Twelve of them select one of LEVELS equally likely values, which reach 3.7 standard
    deviations. There is no visible difference from the exact method in an 8-bit image.

    Attributes:
        keys: (2,) uint32.
    """

    def __init__(self, rng: np.random.Generator):
        self.keys = rng.spawn(1)[0].integers(0, 1 << 32, 2, dtype=np.uint32)
        self._position = 0

    def normals(self, *shape: int) -> np.ndarray:
        """float32, independent of each other."""
        return normal_values().take(self._bits(shape) & np.uint32(LEVELS - 1), mode="clip")

    def normal_pairs(self, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays of normals, independent of each other; both come from the same bits."""
        bits = self._bits(shape)
        first, second = bits & np.uint32(LEVELS - 1), bits >> np.uint32(20)
        return normal_values().take(first, mode="clip"), normal_values().take(second, mode="clip")

    def _bits(self, shape: tuple[int, ...]) -> np.ndarray:
        """The next uint32 numbers of the stream."""
        start, self._position = self._position, self._position + prod(shape)
        bits = np.arange(start, self._position).astype(np.uint32).reshape(shape)
        bits *= STEP
        bits += self.keys[0]
        bits ^= bits >> np.uint32(16)
        bits *= FIRST_FACTOR
        bits += self.keys[1]
        bits ^= bits >> np.uint32(15)
        bits *= SECOND_FACTOR
        bits ^= bits >> np.uint32(16)
        return bits


@cache
def normal_values() -> np.ndarray:
    """The middle of each of LEVELS equal shares of the normal distribution, scaled to variance 1."""
    middle = NormalDist().inv_cdf
    half = np.array([middle((level + 0.5) / LEVELS) for level in range(LEVELS // 2)])
    values = np.concatenate([half, -half[::-1]])
    return (values / values.std()).astype(np.float32)

"""Fast normal noise for images, which need hundreds of thousands of numbers per frame."""

from functools import cache
from math import prod
from statistics import NormalDist

import numpy as np

LEVELS = 4096


class NormalStream:
    """A stream of normal numbers. Several streams of one generator are independent.

    Twelve random bits select one of LEVELS equally likely values, which reach 3.7 standard deviations. This takes a
    tenth of the time of the exact method, with no visible difference in an 8-bit image.
    """

    def __init__(self, rng: np.random.Generator):
        # The fastest of NumPy's generators, because generating bits takes most of the time.
        self._bits = np.random.SFC64(rng.spawn(1)[0].bit_generator.random_raw(4))

    def normals(self, *shape: int) -> np.ndarray:
        """float32, independent of each other."""
        return normal_values().take(self.numbers(*shape), mode="clip")

    def numbers(self, *shape: int) -> np.ndarray:
        """uint16 indices into `normal_values`, of the numbers that `normals` would return."""
        count = prod(shape)
        bits = self._bits.random_raw(-(-count // 4)).view(np.uint16)[:count]
        bits &= np.uint16(LEVELS - 1)
        return bits.reshape(shape)


@cache
def normal_values() -> np.ndarray:
    """The middle of each of LEVELS equal shares of the normal distribution, scaled to variance 1."""
    middle = NormalDist().inv_cdf
    half = np.array([middle((level + 0.5) / LEVELS) for level in range(LEVELS // 2)])
    values = np.concatenate([half, -half[::-1]])
    return (values / values.std()).astype(np.float32)

"""Normal noise for pictures, by the hundred thousand numbers a frame."""

from functools import cache
from math import prod
from statistics import NormalDist

import numpy as np

LEVELS = 4096


def normals(shape: tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
    """float32, independent of each other. Sixteen random bits pick one of LEVELS equally likely values, which reach
    3.7 deviations: a tenth of the time of the exact method, and no 8-bit picture or depth shows the difference."""
    count = prod(shape)
    bits = rng.bit_generator.random_raw(-(-count // 4)).view(np.uint16)[:count]
    bits &= np.uint16(LEVELS - 1)
    return _values().take(bits.reshape(shape), mode="clip")


@cache
def _values() -> np.ndarray:
    """The middle of each of LEVELS equal shares of the normal distribution, of variance 1."""
    middle = NormalDist().inv_cdf
    half = np.array([middle((level + 0.5) / LEVELS) for level in range(LEVELS // 2)])
    values = np.concatenate([half, -half[::-1]])
    return (values / values.std()).astype(np.float32)

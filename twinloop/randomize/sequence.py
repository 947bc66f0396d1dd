"""A low-discrepancy sequence with random access, in any number of dimensions.

Sobol's sequence is even in every pair of its first few dimensions. Further out, some pairs are far from it: with
a few hundred points half of their cells stay empty, whatever the scrambling, because the structure that makes the
sequence even is also what two dimensions share. So dimensions come in groups of a few. Each group is a scrambled
Sobol sequence of its own, walked in another order: within a group every pair is even, between groups pairs are as
even as independent stratified draws.

The order of a group shuffles every run of indices [2^m, 2^(m+1)) within itself, halves within halves (Owen's nested
uniform shuffle of the index). Therefore the first 2^m points are the first 2^m points of Sobol's sequence, in
another order, and point i still depends on i alone.
"""

import numpy as np
from scipy.stats import qmc

GROUP = 6
BLOCK = 64  # a power of two: an aligned block of indices is shuffled onto an aligned block

MOST_POINTS = 1 << 30


class Sequence:
    def __init__(self, dimensions: int, *, seed: int):
        self.dimensions = dimensions
        groups = -(-dimensions // GROUP)
        self._sobols = [qmc.Sobol(GROUP, rng=np.random.default_rng([seed, 0x50B01, group])) for group in range(groups)]
        keys = np.random.SeedSequence([seed, 0x5AFF1E]).generate_state(groups, np.uint64)
        self._keys = [np.uint64(key) for key in keys]

    def points(self, first: int, stop: int) -> np.ndarray:
        """(stop - first, dimensions) points of the open unit cube."""
        blocks = range(first // BLOCK, -(-stop // BLOCK))
        grid = np.concatenate([self._block(block) for block in blocks])
        start = first - blocks.start * BLOCK
        # 0 and 1 have no finite image under a normal distribution.
        return np.clip(grid[start : start + stop - first, : self.dimensions], 2**-33, 1 - 2**-33)

    def _block(self, block: int) -> np.ndarray:
        index = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint64)
        columns = []
        for sobol, key in zip(self._sobols, self._keys, strict=True):
            shuffled = _shuffled(index, key).astype(np.int64)
            base = int(shuffled.min())
            columns.append(_aligned(sobol, base)[shuffled - base])
        return np.concatenate(columns, axis=1)


def _aligned(sobol: qmc.Sobol, base: int) -> np.ndarray:
    """Points base .. base + BLOCK of a Sobol sequence."""
    if base < sobol.num_generated:
        sobol.reset()
    if base > sobol.num_generated:
        sobol.fast_forward(base - sobol.num_generated)
    return sobol.random(BLOCK)


def _shuffled(index: np.ndarray, key: np.uint64) -> np.ndarray:
    """Flip each bit below the highest by a hash of the bits above it."""
    out = index.copy()
    for bit in range(int(index[-1]).bit_length() - 1):
        above = index >> np.uint64(bit + 1)
        flip = _hash(above ^ (np.uint64(bit) << np.uint64(40)) ^ key) & np.uint64(1)
        # No bit above: this bit is the highest, or a leading zero.
        out ^= np.where(above > 0, flip << np.uint64(bit), np.uint64(0))
    return out


def _hash(value: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: every bit of the input decides every bit of the output."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

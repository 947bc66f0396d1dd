"""A low-discrepancy sequence with random access, in any number of dimensions.

Sobol's sequence is even in every pair of its first few dimensions. Further out some pairs are far from it: with a
few hundred points half of their cells stay empty, however they are scrambled, because the structure that makes the
sequence even is also what two dimensions share. So dimensions come in groups of six. Each group is the beginning of
Sobol's sequence, walked in an order and scrambled in a way of its own: within a group every pair is even, between
groups pairs are as even as independent stratified draws.

Order and scrambling are both Owen's nested uniform permutation: a bit is flipped by a hash of the bits above it. On
the values it keeps every stratum filled. On the indices it is applied below the highest bit only, so that the first
2^m points are the first 2^m of Sobol's sequence in another order, for every m.

SciPy has the sequence (the tests compare with it), but walks it from the start, and takes a second to import.
"""

import numpy as np

BITS = 32
MOST_POINTS = 1 << BITS

# Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008):
# (degree and inner coefficients of the primitive polynomial, initial direction numbers) of dimensions 2 to 6.
POLYNOMIALS = ((1, 0, (1,)), (2, 1, (1, 3)), (3, 1, (1, 3, 1)), (3, 2, (1, 1, 1)), (4, 1, (1, 1, 3, 3)))
GROUP = 1 + len(POLYNOMIALS)

_ONE = np.uint64(1)


class Sequence:
    def __init__(self, dimensions: int, *, seed: int):
        self.dimensions = dimensions
        groups = -(-dimensions // GROUP)
        keys = np.random.SeedSequence([seed, 0x50B01]).generate_state(groups * (1 + GROUP), np.uint64)
        self._keys = keys.reshape(groups, 1 + GROUP)

    def points(self, first: int, stop: int) -> np.ndarray:
        """(stop - first, dimensions) points of the open unit cube."""
        index = np.arange(first, stop, dtype=np.uint64)[:, None]
        orders = _permuted(index, self._keys[:, 0], keep_highest=True)
        points = np.concatenate([sobol(order) for order in orders.T], axis=1)
        scrambled = _permuted(points, self._keys[:, 1:].reshape(-1))
        return (scrambled[:, : self.dimensions] + 0.5) / 2.0**BITS


def sobol(index: np.ndarray) -> np.ndarray:
    """(n, GROUP) points of Sobol's sequence as integers of BITS bits, in the order of binary, not Gray, indices."""
    points = np.zeros((len(index), GROUP), np.uint64)
    for bit in range(int(index.max()).bit_length()):
        points ^= (index >> np.uint64(bit) & _ONE)[:, None] * DIRECTIONS[:, bit]
    return points


def _direction_numbers() -> np.ndarray:
    """(GROUP, BITS): what bit k of the index contributes to each dimension."""
    rows = [[1 << (BITS - 1 - k) for k in range(BITS)]]
    for degree, inner, initial in POLYNOMIALS:
        row = [number << (BITS - 1 - k) for k, number in enumerate(initial)]
        for k in range(degree, BITS):
            value = row[k - degree] ^ (row[k - degree] >> degree)
            for step in range(1, degree):
                if inner >> (degree - 1 - step) & 1:
                    value ^= row[k - step]
            row.append(value)
        rows.append(row)
    return np.array(rows, np.uint64)


DIRECTIONS = _direction_numbers()


def _permuted(values: np.ndarray, keys: np.ndarray, *, keep_highest: bool = False) -> np.ndarray:
    """(n, keys) Flip each bit by a hash of the bits above it; with `keep_highest`, only those below the highest set."""
    values = np.broadcast_to(values, (len(values), len(keys)))
    out = values.copy()
    for bit in range(BITS):
        above = values >> np.uint64(bit + 1)
        flip = _hash(above ^ (np.uint64(bit + 1) << np.uint64(40)) ^ keys) & _ONE
        if keep_highest:
            flip &= above > 0
        out ^= flip << np.uint64(bit)
    return out


def _hash(value: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: every bit of the input decides every bit of the output."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

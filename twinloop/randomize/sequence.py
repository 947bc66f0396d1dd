"""A low-discrepancy sequence with random access, in any number of dimensions.

Sobol's sequence is even in every pair of its first few dimensions. Some pairs of higher dimensions are uneven: with a
few hundred points half of their cells stay empty, with any scrambling, because the two dimensions share the structure
that makes the sequence even. So dimensions are divided into groups of six. Each group is the beginning of Sobol's
sequence with its own order and its own scrambling. Within a group every pair is even; between groups pairs are as even
as independent stratified draws. There are thousands of such pairs and some would still have holes. So a group that
leaves holes in a pair with an earlier dimension is scrambled again. Earlier groups never change, so adding rows at the
end of the table does not change other columns.

Order and scrambling both use Owen's nested uniform permutation: a bit is flipped by a hash of the bits above it. On
the values it keeps every stratum filled. On the indices it is applied below the highest bit only, so that the first
2^m points are the first 2^m of Sobol's sequence in another order, for every m.

SciPy has the sequence (the tests compare with it), but it has no random access and takes a second to import.
"""

from collections.abc import Iterable

import numpy as np

BITS = 32
MOST_POINTS = 1 << BITS

# Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008):
# (degree and inner coefficients of the primitive polynomial, initial direction numbers) of dimensions 2 to 6.
POLYNOMIALS = ((1, 0, (1,)), (2, 1, (1, 3)), (3, 1, (1, 3, 1)), (3, 2, (1, 1, 1)), (4, 1, (1, 1, 3, 3)))
GROUP = 1 + len(POLYNOMIALS)

EARLY, SIDE, FILLED, TRIES = 256, 8, 0.86, 100
"""The search for holes uses the first 256 points: at least 86 % of the 8 × 8 cells of a pair must be filled, in at most
100 tries. Later points fill finer cells equally well, because there are more of them."""

CACHED_POINTS = 256
"""Points that are permuted at once, so that all bits of all of them stay in the CPU cache."""

_ONE = np.uint64(1)
_BIT = np.arange(BITS, dtype=np.uint64)


class Sequence:
    """A sequence of points. Groups are scrambled on first use, so a run that varies few parameters costs little."""

    def __init__(self, dimensions: int, *, seed: int):
        self.dimensions = dimensions
        self._seed = seed
        groups = -(-dimensions // GROUP)
        keys = np.random.SeedSequence([seed, 0x50B01]).generate_state(groups * (1 + GROUP), np.uint64)
        self._keys = keys.reshape(groups, 1 + GROUP)
        self._scrambled = 0
        self._strata = np.zeros((0, EARLY), np.float32)

    def points(self, first: int, stop: int, dimensions: Iterable[int] | None = None) -> np.ndarray:
        """(stop - first, len(dimensions)) points of the open unit cube; by default in all dimensions."""
        wanted = np.arange(self.dimensions) if dimensions is None else np.array(list(dimensions), int)
        groups, member = np.divmod(wanted, GROUP)
        index = np.arange(first, stop, dtype=np.uint64)[:, None]
        points = np.empty((stop - first, len(wanted)), np.uint64)
        # The groups that occur, in order. np.unique would import numpy.ma.
        for group in np.flatnonzero(np.bincount(groups)):
            mine = groups == group
            points[:, mine] = _group_points(index, self._keys_of(int(group)), member[mine])
        return (points + 0.5) / 2.0**BITS

    def _keys_of(self, group: int) -> np.ndarray:
        for fresh in range(self._scrambled, group + 1):
            self._scramble(fresh)
        return self._keys[group]

    def _scramble(self, group: int) -> None:
        """Choose the keys of the next group so that it leaves no holes in a pair with an earlier dimension."""
        strata = _strata(self._keys[group])
        attempt = 0
        while len(self._strata) and _least_filled(strata, self._strata) < FILLED and attempt < TRIES:
            attempt += 1
            fresh = np.random.SeedSequence([self._seed, 0x50B01, group, attempt])
            self._keys[group] = fresh.generate_state(1 + GROUP, np.uint64)
            strata = _strata(self._keys[group])
        self._strata = np.concatenate([self._strata, strata])
        self._scrambled = group + 1


def _group_points(index: np.ndarray, keys: np.ndarray, members: np.ndarray) -> np.ndarray:
    """(n, members) integers of BITS bits: the points of these dimensions of one group."""
    order = _permuted(index, keys[:1], keep_highest=True)
    return _permuted(sobol(order[:, 0])[:, members], keys[1:][members])


def _strata(keys: np.ndarray) -> np.ndarray:
    """(GROUP * SIDE, EARLY) 1 if an early point of a group is in a stratum of a dimension, else 0."""
    points = _group_points(np.arange(EARLY, dtype=np.uint64)[:, None], keys, np.arange(GROUP))
    stratum = points.T[:, None, :] >> np.uint64(BITS - SIDE.bit_length() + 1)
    return (stratum == np.arange(SIDE, dtype=np.uint64)[:, None]).reshape(-1, len(points)).astype(np.float32)


def _least_filled(strata: np.ndarray, before: np.ndarray) -> float:
    """Smallest share of cells with a point over all pairs of a dimension of this group and an earlier one."""
    counts = (strata @ before.T).reshape(-1, SIDE, len(before) // SIDE, SIDE)
    return float((counts > 0).mean(axis=(1, 3)).min())


def sobol(index: np.ndarray) -> np.ndarray:
    """(n, GROUP) points of Sobol's sequence as integers of BITS bits, in the order of binary, not Gray, indices."""
    bits = int(index.max()).bit_length()
    is_set = index[:, None, None] >> _BIT[:bits] & _ONE
    return np.bitwise_xor.reduce(is_set * DIRECTIONS[:, :bits], axis=2)


def _direction_numbers() -> np.ndarray:
    """(GROUP, BITS) contribution of bit k of the index to each dimension."""
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
    """(n, keys) values with each bit flipped by a hash of the bits above it.

    With `keep_highest` only the bits below the highest set bit are flipped.
    """
    values = np.broadcast_to(values, (len(values), len(keys)))
    salt = (_BIT + _ONE) << np.uint64(40) ^ keys[:, None]
    out = np.empty_like(values)
    for first in range(0, len(values), CACHED_POINTS):
        part = slice(first, first + CACHED_POINTS)
        above = values[part, :, None] >> (_BIT + _ONE)
        flip = _hash(above ^ salt) & _ONE
        if keep_highest:
            flip &= above > 0
        out[part] = values[part] ^ (flip << _BIT).sum(axis=2, dtype=np.uint64)
    return out


def _hash(value: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: every bit of the input affects every bit of the output."""
    value = value ^ (value >> np.uint64(30))
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(27)
    value *= np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return value

"""Halton's sequence: points that are spread evenly over the unit cube (Halton 1960, doi:10.1007/BF01386213).

SciPy has it too, in a module that takes a second to import.
"""

import numpy as np

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107)


def halton(count: int, dimensions: int) -> np.ndarray:
    """(count, dimensions) first points, the origin included. There are at most as many dimensions as `PRIMES`."""
    return np.column_stack([_radical_inverse(np.arange(count), base) for base in PRIMES[:dimensions]])


def _radical_inverse(numbers: np.ndarray, base: int) -> np.ndarray:
    """(n,) numbers with their digits mirrored at the point: 6, which is 110 in base 2, becomes 0.011."""
    out, place = np.zeros(len(numbers)), 1.0
    while numbers.any():
        place /= base
        numbers, digit = np.divmod(numbers, base)
        out += place * digit
    return out

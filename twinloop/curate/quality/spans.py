"""Stretches of rows and simple statistics of signals, shared by the checks."""

import math

import numpy as np

from twinloop.signals.delay import fit_line

LARGEST = 1e30
"""No sensor of a robot measures more. Squares of larger values overflow in statistics."""


def usable(values: np.ndarray) -> np.ndarray:
    """Which values can be measurements: finite, and of a possible size."""
    with np.errstate(invalid="ignore"):
        return np.isfinite(values) & (np.abs(values) <= LARGEST)


def runs(mask: np.ndarray) -> np.ndarray:
    """(k, 2) [start, stop) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2)


def held(values: np.ndarray) -> np.ndarray:
    """(k, 2) [start, stop) of every stretch of one repeated value, or of one repeated row for (n, d) values."""
    same = values[1:] == values[:-1]
    stretches = runs(same if same.ndim == 1 else same.all(axis=1))
    stretches[:, 1] += 1  # n equal steps are n + 1 equal samples
    return stretches


def span(values: np.ndarray) -> float:
    """Distance between the 1 % and 99 % quantiles.

    The result of `np.quantile`, which takes five times as long for the few hundred values of an episode.
    """
    last = len(values) - 1
    if last < 0 or values.ndim != 1:
        low, high = np.quantile(values, (0.01, 0.99))
        return float(high - low)
    lower, upper = 0.01 * last, 0.99 * last
    a, b = int(lower), int(upper)
    ordered = np.partition(values, sorted({a, min(a + 1, last), b, min(b + 1, last), last}))
    if np.isnan(ordered[last]):
        return math.nan
    low = ordered[a] + (ordered[min(a + 1, last)] - ordered[a]) * (lower - a)
    high = ordered[b] + (ordered[min(b + 1, last)] - ordered[b]) * (upper - b)
    return float(high - low)


def usual_step(values: np.ndarray) -> float:
    """A large but ordinary change between two rows: 95 % quantile of the nonzero changes."""
    steps = np.abs(np.diff(values))
    steps = steps[steps > 0]
    return float(np.quantile(steps, 0.95)) if len(steps) else 0.0


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson correlation; 0 if a signal is constant."""
    return fit_line(one, other)[1]

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


def quantile(values: np.ndarray, share: float) -> float:
    """`np.quantile` of (n,) values, bitwise. NumPy takes five times as long for a few hundred values."""
    last = len(values) - 1
    if last < 0 or values.ndim != 1:
        return float(np.quantile(values, share))
    return _quantiles(values, (share,))[0]


def span(values: np.ndarray) -> float:
    """Distance between the 1 % and 99 % quantiles."""
    if not len(values) or values.ndim != 1:
        low, high = np.quantile(values, (0.01, 0.99))
        return float(high - low)
    low, high = _quantiles(values, (0.01, 0.99))
    return high - low


def _quantiles(values: np.ndarray, shares: tuple[float, ...]) -> list[float]:
    last = len(values) - 1
    places = [share * last for share in shares]
    below = [int(place) for place in places]
    above = [min(index + 1, last) for index in below]
    ordered = values.copy()
    ordered.partition([*below, *above, last])
    if np.isnan(ordered[last]):
        return [math.nan] * len(shares)
    return [
        between(float(ordered[low]), float(ordered[high]), place - low)
        for place, low, high in zip(places, below, above, strict=True)
    ]


def between(low: float, high: float, share: float) -> float:
    """Linear interpolation from the nearer end, as in `np.quantile`."""
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)


def usual_step(values: np.ndarray) -> float:
    """A large but ordinary change between two rows: 95 % quantile of the nonzero changes."""
    steps = np.abs(np.diff(values))
    steps = steps[steps > 0]
    return quantile(steps, 0.95) if len(steps) else 0.0


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson correlation; 0 if a signal is constant."""
    return fit_line(one, other)[1]

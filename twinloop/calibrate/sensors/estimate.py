"""Estimate: a number a log tells, with the interval in which it lies nine times of ten."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

HALF_CHI2_90 = 1.3528
"""Half the 90 % quantile of chi² with one degree of freedom: how much log-likelihood an end of the interval costs."""


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Estimate":
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


def within(estimates: Iterable[Estimate]) -> Estimate:
    """One number for several sensors of a kind: the middle one, between the least and the most any of them may be."""
    found = list(estimates)
    return Estimate(
        float(np.median([each.value for each in found])),
        min(each.low for each in found),
        max(each.high for each in found),
    )


def profiled(log_likelihood: Callable[[float], float], places: Iterable[float]) -> Estimate:
    """The most likely number, and where the likelihood has fallen by what 90 % allow.

    `log_likelihood` is of one number, with all others at their best for it. It is asked at ascending `places`, which
    need only be fine enough not to miss its one peak, and then between them. A likelihood that has not fallen at the
    first or last place leaves the interval open there: that place is its end.
    """
    grid = [float(place) for place in places]
    values = [_finite(log_likelihood(place)) for place in grid]
    best = int(np.argmax(values))
    value, most = _peak(log_likelihood, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    if values[best] >= most:
        value, most = grid[best], values[best]
    enough = most - HALF_CHI2_90

    def end(indices: range) -> float:
        inside = value
        for index in indices:
            if values[index] < enough:
                return _crossing(log_likelihood, inside, grid[index], enough)
            inside = grid[index]
        return inside

    return Estimate(value, end(range(best - 1, -1, -1)), end(range(best + 1, len(grid))))


def _finite(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def _peak(log_likelihood: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """By golden section: where between two places it is largest, and how large."""
    golden = 0.618034
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = _finite(log_likelihood(a)), _finite(log_likelihood(b))
    for _ in range(16):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = _finite(log_likelihood(a))
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = _finite(log_likelihood(b))
    return (a, at_a) if at_a > at_b else (b, at_b)


def _crossing(log_likelihood: Callable[[float], float], inside: float, outside: float, enough: float) -> float:
    for _ in range(12):
        middle = (inside + outside) / 2
        if log_likelihood(middle) >= enough:
            inside = middle
        else:
            outside = middle
    return (inside + outside) / 2


def deviation(residuals: np.ndarray, *, degrees: int | None = None) -> Estimate:
    """Of white noise: the root of its mean square, with the interval that chi² gives."""
    from scipy.special import chdtri

    free = len(residuals) if degrees is None else degrees
    square = float(np.sum(np.square(residuals)))
    low, high = square / chdtri(free, 0.05), square / chdtri(free, 0.95)
    return Estimate(float(np.sqrt(square / free)), float(np.sqrt(low)), float(np.sqrt(high)))

"""IntervalEstimate: a number estimated from a log, with its 90 % interval."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

HALF_CHI2_90 = 1.3528
"""Half the 90 % quantile of chi² with one degree of freedom: loss of log-likelihood at an end of the interval."""


TAIL = 1.6449
"""Half-width of the 90 % interval of a normal distribution, in standard deviations."""


@dataclass(frozen=True)
class IntervalEstimate:
    """A value with the ends of its 90 % interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "IntervalEstimate":
        return IntervalEstimate(self.value * factor, self.low * factor, self.high * factor)


def together(estimates: Iterable[IntervalEstimate]) -> tuple[IntervalEstimate, IntervalEstimate]:
    """Combine estimates of several sensors of one kind: (their mean, the interval in which a single one lies).

    This is a random-effects meta-analysis (DerSimonian and Laird). Differences beyond the errors of the estimates are
    taken as differences between sensors, and are added to the second interval. The computation uses logarithms
    unless an interval includes 0.
    """
    gathered = list(estimates)
    ends = np.array([(estimate.value, estimate.low, estimate.high) for estimate in gathered])
    if len(gathered) == 1 or (ends[:, 1] == ends[:, 2]).all():
        known = IntervalEstimate(float(np.median(ends[:, 0])), float(ends[:, 1].min()), float(ends[:, 2].max()))
        return known, known
    logs = bool((ends[:, 1] > 0).all())
    middle, low, high = (np.log(ends) if logs else ends).T
    error = np.maximum((high - low) / (2 * TAIL), 1e-9 * np.abs(middle).max() + 1e-30)
    # Near 0 an error shrinks with its value, so weights by error would favour the smallest value.
    weight = 1 / error**2 if logs else np.ones(len(gathered))
    mean = float(weight @ middle / weight.sum())
    scatter = float((1 / error**2) @ (middle - mean) ** 2) - (len(gathered) - 1)
    norm = float((1 / error**2).sum() - (error**-4.0).sum() / (error**-2.0).sum())
    between = max(scatter / norm, 0.0) if len(gathered) > 1 and norm > 0 else 0.0
    if logs:
        weight = 1 / (error**2 + between)
        mean = float(weight @ middle / weight.sum())
    of_mean = float(np.sqrt((weight**2 @ (error**2 + between)) / weight.sum() ** 2))
    of_one = float(np.hypot(of_mean, np.sqrt(between)))

    def interval(width: float) -> IntervalEstimate:
        if logs:
            return IntervalEstimate(*(float(np.exp(mean + sign * TAIL * width)) for sign in (0, -1, 1)))
        return IntervalEstimate(*(max(mean + sign * TAIL * width, 0.0) for sign in (0, -1, 1)))

    return interval(of_mean), interval(of_one)


def profiled(log_likelihood: Callable[[float], float], places: Iterable[float]) -> IntervalEstimate:
    """Maximum-likelihood estimate with its 90 % profile-likelihood interval.

    Args:
        log_likelihood: profile log-likelihood of one number, with all others at their optimum. It has one peak.
        places: ascending grid that is fine enough not to miss the peak; the result is refined between its points. If
            the likelihood has not fallen enough at the first or last point, the interval ends there.
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

    return IntervalEstimate(value, end(range(best - 1, -1, -1)), end(range(best + 1, len(grid))))


def _finite(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def _peak(log_likelihood: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Golden-section search: (position, value) of the maximum between two places."""
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


def deviation(residuals: np.ndarray, *, degrees: int | None = None) -> IntervalEstimate:
    """Standard deviation of white noise (root mean square), with the chi² interval."""
    from scipy.special import chdtri

    free = len(residuals) if degrees is None else degrees
    square = float(np.sum(np.square(residuals)))
    low, high = square / chdtri(free, 0.05), square / chdtri(free, 0.95)
    return IntervalEstimate(float(np.sqrt(square / free)), float(np.sqrt(low)), float(np.sqrt(high)))

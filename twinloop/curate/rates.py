"""Success rates of episodes by drawn parameter value."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from twinloop.curate.intervals import wilson

BINS = 10
BIN_LEAST = 8  # attempts; a rate of fewer is meaningless
FALSE_ALARM = 0.01
"""Probability of a false alarm (a parameter without influence is reported), for all parameters of a run together."""


@dataclass(frozen=True)
class Rate:
    """A success rate: successes and trials, with the 95 % Wilson interval."""

    successes: int
    trials: int

    @property
    def value(self) -> float:
        return self.successes / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        low, high = wilson(self.successes, self.trials)
        return float(low), float(high)


@dataclass(frozen=True)
class Fall:
    """Neighbouring bins with clearly lower success than the rest, from the value `low` to the value `high`."""

    low: float
    high: float
    rate: Rate
    overall: Rate


@dataclass(frozen=True)
class ParameterRates:
    """Success in bins of one drawn parameter.

    Attributes:
        edges: (bins, 2) smallest and largest value in each bin.
        bins: the rate of each bin.
        strength: of the association, from 0 (none) to 1 (complete): Cramér's V, corrected for the noise of the bins.
        p_value: probability of bins that differ this much if the parameter has no influence.
    """

    column: str
    edges: np.ndarray
    bins: tuple[Rate, ...]
    overall: Rate
    strength: float
    p_value: float
    fall: Fall | None


def success_by_parameter(
    draws: Mapping[str, np.ndarray], success: np.ndarray, *, bins: int = BINS
) -> tuple[ParameterRates, ...]:
    """Success by every column that varies, the strongest association first.

    All bins have the same number of attempts, so that their intervals are equally wide and can be compared. A column of
    few values has one bin per value.

    Args:
        draws: column -> (n,) values, NaN if an attempt did not draw it.
        success: (n,) bool.
    """
    varied = {name: values for name, values in draws.items() if _varies(values)}
    rates = [_rates(name, values, success, bins, len(varied)) for name, values in varied.items()]
    return tuple(sorted(rates, key=lambda rate: (-rate.strength, rate.p_value, rate.column)))


def _varies(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool(finite.min() < finite.max())


def _rates(column: str, values: np.ndarray, success: np.ndarray, most: int, columns: int) -> ParameterRates:
    finite = np.isfinite(values)
    values, success = values[finite], success[finite]
    code = _bin(values, most)
    trials = np.bincount(code)
    hits = np.bincount(code, weights=success).astype(int)
    edges = np.array([[values[code == group].min(), values[code == group].max()] for group in range(len(trials))])
    overall = Rate(int(success.sum()), len(success))
    strength, p_value = _association(hits, trials)
    rates = tuple(Rate(int(hit), int(trial)) for hit, trial in zip(hits, trials, strict=True))
    # The false-alarm probability is divided by the number of parameters, because each has its own test.
    fall = _fall(edges, rates, overall) if p_value < FALSE_ALARM / columns else None
    return ParameterRates(column, edges, rates, overall, strength, p_value, fall)


def _bin(values: np.ndarray, most: int) -> np.ndarray:
    """(n,) bin of each value, counted from 0 without gaps."""
    count = max(1, min(most, len(values) // BIN_LEAST))
    levels, level = np.unique(values, return_inverse=True)
    if len(levels) <= count:
        return level
    inner = np.quantile(values, np.arange(1, count) / count)
    # Equal values stay together, so a bin may be empty; np.unique removes the gap.
    return np.unique(np.searchsorted(inner, values, side="right"), return_inverse=True)[1]


def _association(hits: np.ndarray, trials: np.ndarray) -> tuple[float, float]:
    """(strength, p-value) of a 2 × bins table by the chi-squared statistic."""
    total, freedom = int(trials.sum()), len(trials) - 1
    rate = hits.sum() / total
    if freedom < 1 or rate in (0, 1) or total < 2:
        return 0.0, 1.0
    statistic = float(((hits - trials * rate) ** 2 / (trials * rate * (1 - rate))).sum())
    # Without any association statistic / total is about freedom / total, so that is subtracted.
    strength = np.sqrt(max(0.0, statistic / total - freedom / (total - 1)))
    return float(min(1.0, strength)), float(scipy.special.chdtrc(freedom, statistic))


def _fall(edges: np.ndarray, rates: tuple[Rate, ...], overall: Rate) -> Fall | None:
    below = [rate.interval[1] < overall.value for rate in rates]
    lowest = min(range(len(rates)), key=lambda place: rates[place].value)
    if not below[lowest]:
        return None
    first = last = lowest
    while first > 0 and below[first - 1]:
        first -= 1
    while last + 1 < len(rates) and below[last + 1]:
        last += 1
    run = rates[first : last + 1]
    pooled = Rate(sum(rate.successes for rate in run), sum(rate.trials for rate in run))
    return Fall(float(edges[first, 0]), float(edges[last, 1]), pooled, overall)

"""Candidate and control on the robot, each with trials of its own: an exact test and an interval of the difference."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from twinloop.curate.intervals import wilson

GRID = 400
MOST_TABLES = 4_000_000


@dataclass(frozen=True)
class UnpairedTest:
    """Is the candidate better than the control less `margin`?

    p_better: the chance of counts at least this good, were the candidate worse by `margin` (margin 0: no better), at
        the control's rate that makes them likeliest. Unconditional exact: never too small.
    p_worse: the chance of counts at least this bad, were it no worse.
    low, high: Newcombe's 95 % interval of the difference, from both Wilson intervals.
    """

    candidate_successes: int
    candidate_trials: int
    control_successes: int
    control_trials: int
    margin: float
    difference: float | None
    low: float
    high: float
    p_better: float
    p_worse: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def unpaired_test(
    candidate_successes: int,
    candidate_trials: int,
    control_successes: int,
    control_trials: int,
    *,
    margin: float = 0.0,
) -> UnpairedTest:
    counts = (candidate_successes, candidate_trials, control_successes, control_trials)
    for hits, trials in (counts[:2], counts[2:]):
        if not 0 <= hits <= trials:
            raise ValueError(f"{hits} successes of {trials} trials: from 0 to the number of trials was expected")
    if not 0 <= margin < 1:
        raise ValueError(f"margin: {margin} was given, a difference of rates from 0 to below 1 was expected")
    x, m, y, n = counts
    if m == 0 or n == 0:
        return UnpairedTest(*counts, margin, None, -1.0, 1.0, 1.0, 1.0)
    if (m + 1) * (n + 1) > MOST_TABLES:
        raise ValueError(f"{m} and {n} trials: too many for an exact test; at so many, compare their intervals")
    first, second = x / m, y / n
    low, high = wilson([x, y], [m, n])
    difference = first - second
    down = difference - float(np.hypot(first - low[0], high[1] - second))
    up = difference + float(np.hypot(high[0] - first, second - low[1]))
    # Worse is better seen from the control.
    return UnpairedTest(*counts, margin, difference, down, up, _p_value(x, m, y, n, margin), _p_value(y, n, x, m, 0.0))


def _p_value(x: int, m: int, y: int, n: int, margin: float) -> float:
    """Of "the first rate is the second less margin, or lower"."""
    hits, others = np.arange(m + 1), np.arange(n + 1)
    value = _statistic(hits[None], m, others[:, None], n, margin)
    good = value >= value[y, x] - 1e-9
    # The statistic grows with the first's successes: for each count of the second, one number says from where on.
    least = np.where(good.any(1), good.argmax(1), m + 1)
    second = margin + (1 - margin) * np.linspace(0, 1, GRID)
    rate = (second - margin)[:, None]
    tail = np.where(least[None] == 0, 1.0, bdtrc(np.clip(least - 1.0, 0, m)[None], m, rate))
    tail = np.where(least[None] > m, 0.0, tail)
    below = np.where(others[None] == 0, 0.0, bdtr(np.maximum(others - 1.0, 0)[None], n, second[:, None]))
    chance = ((bdtr(others[None].astype(float), n, second[:, None]) - below) * tail).sum(axis=1)
    return float(min(1.0, chance.max()))


def _statistic(x: np.ndarray, m: int, y: np.ndarray, n: int, margin: float) -> np.ndarray:
    """How many standard errors the difference is above -margin; the error is that of the most likely rates whose
    difference is exactly -margin (Farrington and Manning 1990), found by halving where the likelihood still rises."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    if margin == 0:
        second = (x + y) / (m + n)
    else:
        low, high = np.full(x.shape, margin), np.ones(x.shape)
        for _ in range(40):
            second = (low + high) / 2
            first = second - margin
            # The slope of the log likelihood, times all its denominators so that nothing is divided by zero.
            slope = (x - m * first) * second * (1 - second) + (y - n * second) * first * (1 - first)
            low, high = np.where(slope > 0, second, low), np.where(slope > 0, high, second)
        second = (low + high) / 2
    first = np.clip(second - margin, 0, 1)
    variance = first * (1 - first) / m + second * (1 - second) / n
    excess = x / m - y / n + margin
    known = variance > 1e-12
    return np.where(known, excess / np.sqrt(np.where(known, variance, 1)), np.sign(excess) * 1e9)

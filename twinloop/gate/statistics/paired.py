"""Candidate and incumbent on the same draws, or in the same round on the robot: exact tests of who is better.

What both manage, or both fail at, does not tell them apart, but it does bound how often they differ, and the
unconditional test makes use of that: its p-value is the largest over every share of pairs in which they may differ.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

GRID = 400
"""Shares of differing pairs at which the chance is computed; between them it hardly moves."""


@dataclass(frozen=True)
class PairedTest:
    """Is the candidate better than the incumbent less `margin`?

    p_better: the chance of a split at least this good, were the candidate worse by `margin` (margin 0: no better).
        Unconditional exact.
    p_worse: the chance of a split at least this bad, were it no worse. McNemar's exact one-sided test.
    """

    both: int
    only_candidate: int
    only_incumbent: int
    neither: int
    margin: float
    difference: float | None
    p_better: float
    p_worse: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def paired_test(
    both: int, only_candidate: int, only_incumbent: int, neither: int, *, margin: float = 0.0
) -> PairedTest:
    counts = (both, only_candidate, only_incumbent, neither)
    if min(counts) < 0:
        raise ValueError(f"{counts} was given; four counts were expected")
    if not 0 <= margin < 1:
        raise ValueError(f"margin: {margin} was given, a difference of rates from 0 to below 1 was expected")
    n, won, lost = sum(counts), only_candidate, only_incumbent
    worse = float(bdtr(won, won + lost, 0.5)) if won + lost else 1.0
    difference = (won - lost) / n if n else None
    return PairedTest(*counts, margin, difference, _p_better(won, lost, n, margin), worse)


def mcnemar(only_candidate: int, only_incumbent: int) -> float:
    """The one-sided conditional p-value of "the candidate is no better"."""
    split = only_candidate + only_incumbent
    return float(bdtrc(only_candidate - 1, split, 0.5)) if only_candidate else 1.0


def _p_better(won: int, lost: int, n: int, margin: float) -> float:
    if n == 0:
        return 1.0
    seen = float(_statistic(np.array(won), np.array(lost), n, margin))
    differing = np.arange(n + 1)
    wins = np.arange(n + 1)
    # For as many differing pairs, more wins are better evidence: one number says which splits are as good as this.
    value = _statistic(wins[None], differing[:, None] - wins[None], n, margin)
    good = (value >= seen - 1e-9) & (wins[None] <= differing[:, None])
    least = np.where(good.any(1), good.argmax(1), n + 1)
    share = margin + (1 - margin) * np.linspace(1e-9, 1, GRID)
    win = (share - margin) / (2 * share)
    # Given how many pairs differ, wins are binomial.
    tail = np.where(least[None] == 0, 1.0, bdtrc(np.maximum(least - 1.0, 0)[None], differing[None], win[:, None]))
    tail = np.where(least[None] > differing[None], 0.0, tail)
    chance = (_binomial(differing, n, share) * tail).sum(axis=1)
    return float(min(1.0, chance.max()))


def _statistic(won: np.ndarray, lost: np.ndarray, n: int, margin: float) -> np.ndarray:
    """The score statistic of a difference of -margin (Tango 1998): how many standard errors above it the split is."""
    won, lost = np.asarray(won, float), np.maximum(np.asarray(lost, float), 0)
    # The most likely share that only the incumbent manages, were the difference exactly -margin.
    half = won + lost + (2 * n - won + lost) * margin
    fitted = (half + np.sqrt(np.maximum(half**2 - 8 * n * lost * margin * (1 + margin), 0))) / (4 * n)
    variance = n * np.maximum(2 * fitted - margin * (1 + margin), 0)
    excess = won - lost + n * margin
    known = variance > 1e-12
    return np.where(known, excess / np.sqrt(np.where(known, variance, 1)), np.sign(excess) * 1e9)


def _binomial(counts: np.ndarray, n: int, share: np.ndarray) -> np.ndarray:
    """(share, counts) the chance of each count."""
    low = np.where(counts[None] == 0, 0.0, bdtr(np.maximum(counts - 1.0, 0)[None], n, share[:, None]))
    return bdtr(counts[None].astype(float), n, share[:, None]) - low

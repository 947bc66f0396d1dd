"""How far apart two distributions are, and whether that is more than episodes differ among themselves."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

CELLS = 256
DRAWS = 200


@dataclass(frozen=True)
class Distance:
    """wasserstein: how far values have to be moved on average, in the channel's unit, with a 95 % interval. share: of
    the span of both. ks: the largest difference of the two distribution functions. p_value: how often episodes shuffled
    between the two are as far apart. quantiles: 1, 10, 50, 90, 99 % of each side."""

    wasserstein: float
    interval: tuple[float, float]
    share: float
    ks: float
    ks_interval: tuple[float, float]
    p_value: float
    quantiles: tuple[tuple[float, ...], tuple[float, ...]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def distance(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], *, seed: int) -> Distance:
    """Of one channel, (rows,) an episode on each side. Rows of an episode are alike, so episodes are what is drawn."""
    pooled = [np.concatenate(list(side)) for side in (ours, theirs)]
    both = np.concatenate(pooled)
    low, high = float(both.min()), float(both.max())
    edges = np.unique(
        np.concatenate([np.quantile(both, np.linspace(0, 1, CELLS // 2)), np.linspace(low, high, CELLS // 2)])
    )
    quantiles = tuple(tuple(np.quantile(side, (0.01, 0.1, 0.5, 0.9, 0.99)).tolist()) for side in pooled)
    if len(edges) < 2:
        return Distance(0.0, (0.0, 0.0), 0.0, 0.0, (0.0, 0.0), 1.0, (quantiles[0], quantiles[1]))
    counts = np.array([np.histogram(values, edges)[0] for values in (*ours, *theirs)], np.float64)
    mine = np.arange(len(counts)) < len(ours)
    widths = np.diff(edges)
    found = _apart(counts[mine].sum(axis=0), counts[~mine].sum(axis=0), widths)
    rng = np.random.default_rng(seed)
    drawn, shuffled = np.empty((DRAWS, 2)), np.empty(DRAWS)
    for draw in range(DRAWS):
        one, other = (rng.choice(np.flatnonzero(side), side.sum()) for side in (mine, ~mine))
        drawn[draw] = _apart(counts[one].sum(axis=0), counts[other].sum(axis=0), widths)
        mixed = rng.permutation(mine)
        shuffled[draw] = _apart(counts[mixed].sum(axis=0), counts[~mixed].sum(axis=0), widths)[0]
    span = float(np.subtract(*np.quantile(both, (0.99, 0.01))))
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    p_value = float((1 + (shuffled >= found[0]).sum()) / (1 + DRAWS))
    # What one episode is among others cannot be known from a single one.
    if mine.sum() < 2 or (~mine).sum() < 2:
        p_value = float("nan")
    return Distance(
        wasserstein=found[0], interval=(float(ends[0, 0]), float(ends[1, 0])), share=found[0] / max(span, 1e-12),
        ks=found[1], ks_interval=(float(ends[0, 1]), float(ends[1, 1])), p_value=p_value,
        quantiles=(quantiles[0], quantiles[1]),
    )  # fmt: skip


def _apart(one: np.ndarray, other: np.ndarray, widths: np.ndarray) -> tuple[float, float]:
    """(Wasserstein-1, Kolmogorov-Smirnov) of two histograms over the same cells."""
    gap = np.abs(np.cumsum(one) / max(one.sum(), 1) - np.cumsum(other) / max(other.sum(), 1))
    return float(gap @ widths), float(gap.max())

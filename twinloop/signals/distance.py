"""Distance between two distributions, compared with the differences between episodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CELLS = 256
DRAWS = 200


@dataclass(frozen=True)
class Distance:
    """Distance of one channel between two datasets.

    Attributes:
        wasserstein: Wasserstein-1 distance in the channel's unit.
        interval: its 95 % interval.
        share: the distance as a share of the span of both datasets.
        ks: Kolmogorov-Smirnov statistic, with `ks_interval`.
        p_value: share of random divisions of the episodes that are at least as far apart.
        quantiles: 1, 10, 50, 90, 99 % of each dataset.
    """

    wasserstein: float
    interval: tuple[float, float]
    share: float
    ks: float
    ks_interval: tuple[float, float]
    p_value: float
    quantiles: tuple[tuple[float, ...], tuple[float, ...]]


def distance(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], *, seed: int) -> Distance:
    """Distance of one channel, given as one array (rows,) per episode.

    Rows of an episode are correlated, so the bootstrap draws whole episodes.
    """
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
    is_ours = np.arange(len(counts)) < len(ours)
    widths = np.diff(edges)
    observed = _distances(counts[is_ours].sum(axis=0), counts[~is_ours].sum(axis=0), widths)
    rng = np.random.default_rng(seed)
    drawn, shuffled = np.empty((DRAWS, 2)), np.empty(DRAWS)
    for draw in range(DRAWS):
        one, other = (rng.choice(np.flatnonzero(side), side.sum()) for side in (is_ours, ~is_ours))
        drawn[draw] = _distances(counts[one].sum(axis=0), counts[other].sum(axis=0), widths)
        mixed = rng.permutation(is_ours)
        shuffled[draw] = _distances(counts[mixed].sum(axis=0), counts[~mixed].sum(axis=0), widths)[0]
    span = float(np.subtract(*np.quantile(both, (0.99, 0.01))))
    ends = np.quantile(drawn, (0.025, 0.975), axis=0)
    p_value = float((1 + (shuffled >= observed[0]).sum()) / (1 + DRAWS))
    # One episode does not show how episodes differ.
    if is_ours.sum() < 2 or (~is_ours).sum() < 2:
        p_value = float("nan")
    return Distance(
        wasserstein=observed[0], interval=(float(ends[0, 0]), float(ends[1, 0])), share=observed[0] / max(span, 1e-12),
        ks=observed[1], ks_interval=(float(ends[0, 1]), float(ends[1, 1])), p_value=p_value,
        quantiles=(quantiles[0], quantiles[1]),
    )  # fmt: skip


def _distances(one: np.ndarray, other: np.ndarray, widths: np.ndarray) -> tuple[float, float]:
    """(Wasserstein-1, Kolmogorov-Smirnov) of two histograms over the same bins."""
    gap = np.abs(np.cumsum(one) / max(one.sum(), 1) - np.cumsum(other) / max(other.sum(), 1))
    return float(gap @ widths), float(gap.max())

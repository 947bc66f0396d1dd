"""Agreement of twin and reality on the ranking and the success rates of policies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4000
LEAST_POLICIES = 4
"""Minimum number of policies for resampling. A resample of three policies most often contains only two of them."""


@dataclass(frozen=True)
class Counted:
    """A success rate and the number of its trials, if known."""

    rate: float
    trials: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ValueError(f"a rate of {self.rate} was given, one from 0 to 1 was expected")
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"{self.trials} trials were given, at least one was expected")


@dataclass(frozen=True)
class Agreement:
    """Agreement over policies tried in the twin and in reality.

    A value is None if there are too few policies or if one side does not vary.

    Attributes:
        policies: number of policies.
        pearson: Pearson correlation of the rates.
        mmrv: mean maximum rank violation (Li and others, SIMPLER, 2024): the mean over policies of the largest real
            difference to another policy that the twin ranks wrongly. 0 if every ranking is right.
        gap: mean of the twin's rate minus the real rate.
        pearson_low, pearson_high, mmrv_low, mmrv_high: 95 % intervals from resampling policies and, if the number of
            trials is known, from resampling their rates.
    """

    policies: int
    pearson: float | None
    pearson_low: float
    pearson_high: float
    mmrv: float | None
    mmrv_low: float
    mmrv_high: float
    gap: float | None


def pearson(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Pearson correlation along the last axis; NaN if one side does not vary."""
    x, y = (rates - rates.mean(axis=-1, keepdims=True) for rates in (np.asarray(sim, float), np.asarray(real, float)))
    spread = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    known = spread > 1e-12
    return np.where(known, np.clip((x * y).sum(axis=-1) / np.where(known, spread, 1), -1, 1), np.nan)


def mean_maximum_rank_violation(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Mean maximum rank violation along the last axis.

    Policies i and j are ranked wrongly if i is above j on one side and not on the other.
    """
    x, y = np.asarray(sim, float), np.asarray(real, float)
    wrong = (x[..., :, None] > x[..., None, :]) != (y[..., :, None] > y[..., None, :])
    return np.where(wrong, np.abs(y[..., :, None] - y[..., None, :]), 0.0).max(axis=-1).mean(axis=-1)


def agreement(
    sim: Sequence[Counted], real: Sequence[Counted], *, seed: int, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Agreement:
    """Compare success rates in the twin (`sim`) and in reality (`real`), both in the order of the policies."""
    if len(sim) != len(real):
        raise ValueError(f"{len(sim)} policies in the twin and {len(real)} in reality were given; pairs were expected")
    if len(sim) < 2:
        return Agreement(len(sim), None, -1.0, 1.0, None, 0.0, 1.0, sim[0].rate - real[0].rate if sim else None)
    x, y = (np.array([counted.rate for counted in side]) for side in (sim, real))
    r, violation = float(pearson(x, y)), float(mean_maximum_rank_violation(x, y))
    correlated = None if np.isnan(r) else r
    ends = (-1.0, 1.0, 0.0, 1.0)
    if len(sim) >= LEAST_POLICIES:
        ends = _intervals(sim, real, correlated, violation, resamples, confidence, np.random.default_rng(seed))
    return Agreement(len(sim), correlated, *ends[:2], violation, *ends[2:], float((x - y).mean()))


def _intervals(
    sim: Sequence[Counted],
    real: Sequence[Counted],
    correlated: float | None,
    violation: float,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float, float, float]:
    chosen = rng.integers(len(sim), size=(resamples, len(sim)))
    x, y = (np.take_along_axis(_possible(side, resamples, rng), chosen, axis=1) for side in (sim, real))
    tails = (0.5 - confidence / 2, 0.5 + confidence / 2)
    drawn = pearson(x, y)
    drawn = drawn[~np.isnan(drawn)]
    low, high = (-1.0, 1.0) if correlated is None or not len(drawn) else np.quantile(drawn, tails)
    least, most = np.quantile(mean_maximum_rank_violation(x, y), tails)
    if correlated is not None:
        low, high = min(low, correlated), max(high, correlated)
    return float(low), float(high), float(min(least, violation)), float(max(most, violation))


def _possible(side: Sequence[Counted], samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (many, policies) rates from the Jeffreys posterior; a rate with unknown number of trials is not varied."""
    out = np.empty((samples, len(side)))
    for place, counted in enumerate(side):
        if counted.trials is None:
            out[:, place] = counted.rate
        else:
            hits = counted.rate * counted.trials
            out[:, place] = rng.beta(hits + 0.5, counted.trials - hits + 0.5, samples)
    return out

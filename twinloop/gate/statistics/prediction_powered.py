"""Real success rate of a policy from few real trials and many twin trials together.

Real trial i is repeated in the twin under the same conditions. The twin also simulates many conditions that were not
tried in reality. If outcomes in the twin correlate with real outcomes, even with a consistent bias, the variance of the
estimate is smaller. This is prediction-powered inference (Angelopoulos and others, Science 2023; with a tuned weight:
PPI++, 2023). No interval assumes that the twin is right. A biased twin does not reduce the coverage, and an unrelated
twin hardly widens the interval.

    strata   The default. The real rate is the weighted mean of two rates: under conditions in which the twin succeeds,
             and under conditions in which it fails. The weights are the shares of these conditions in the twin. Both
             rates have exact intervals, which are combined by the sum of squares (as Newcombe, and Zou and Donner 2008,
             do for differences). For binary outcomes this is PPI++ at its best weight, without the normal
             approximation. If the interval is not narrower by a tenth than that of the real trials alone, the latter is
             used, so that no twin makes the result worse. The coverage is measured, not proven.
    betting  The coverage is proven for any number of trials (finite-sample), and the interval is wider. Bets are made
             on real outcomes minus what the twin explains, with a weight learnt from the trials before.
    normal   PPI++ as published, for comparison. Its intervals are too narrow below a hundred trials.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from twinloop.gate.statistics.bets import ANYWHERE
from twinloop.gate.statistics.binomial import clopper_pearson

Method = Literal["strata", "betting", "normal"]
METHODS: tuple[Method, ...] = ("strata", "betting", "normal")
HALVINGS = 40
LEAST_GAIN = 0.1
"""Minimum relative reduction of the interval's width for the twin to be used.

Always taking the narrower interval would be a selection by the data. With ten trials it would reduce the coverage.
"""


@dataclass(frozen=True)
class Combined:
    """The real success rate from real and twin trials together.

    Attributes:
        trials: number of real trials.
        twin_trials: number of twin trials under other conditions.
        estimate, low, high: the combined rate and its interval.
        real_rate, real_low, real_high: rate and interval from the real trials alone (Clopper-Pearson, same confidence).
        twin_rate: success rate of the twin trials under other conditions.
        weight: slope of real success on success in the twin: 0 unrelated, 1 the same.
        correlation: correlation of paired outcomes; None if one side does not vary.
        worth_trials: approximate number of real trials that would give as narrow an interval without the twin; widths
            shrink with the square root of the number of trials. None if the interval is a point, as `normal` may give.
    """

    method: Method
    confidence: float
    trials: int
    twin_trials: int
    estimate: float
    low: float
    high: float
    real_rate: float
    real_low: float
    real_high: float
    twin_rate: float
    weight: float
    correlation: float | None
    worth_trials: int | None


def combine(
    real: Sequence[bool] | np.ndarray,
    twin_paired: ArrayLike,
    twin_many: ArrayLike,
    *,
    confidence: float = 0.95,
    method: Method = "strata",
) -> Combined:
    """Combine real and twin trials into one success rate with an interval.

    Args:
        real: (n,) real outcomes.
        twin_paired: (n,) outcomes in the twin under the same conditions, or success rates over several rollouts.
        twin_many: (m,) outcomes in the twin under conditions of the same distribution without a real trial.

    Raises:
        ValueError: the shapes do not match, an array is empty, or an outcome is out of range.
    """
    truth, paired, in_twin = (np.asarray(outcomes, float) for outcomes in (real, twin_paired, twin_many))
    if truth.shape != paired.shape or truth.ndim != 1 or not len(truth) or in_twin.ndim != 1 or not len(in_twin):
        raise ValueError(
            f"{truth.shape} real, {paired.shape} paired and {in_twin.shape} twin trials were given; "
            "expected: one paired "
            "trial for each real one, and at least one of each kind"
        )
    if not all(((outcomes >= 0) & (outcomes <= 1)).all() for outcomes in (truth, paired, in_twin)):
        raise ValueError("finite outcomes from 0 to 1 were expected")
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("real outcomes must be 0 or 1")
    # The threshold is fixed beforehand, not chosen by the data: the twin succeeds if its rate is at least one half.
    paired_succeeds, twin_succeeds = (paired >= 0.5).astype(float), (in_twin >= 0.5).astype(float)
    n, hits = len(truth), int(truth.sum())
    if method == "strata":
        n_yes, hits_yes = paired_succeeds.sum(), (truth * paired_succeeds).sum()
        estimate, low, high = strata(
            n_yes, hits_yes, n - n_yes, hits - hits_yes, twin_succeeds.sum(), len(twin_succeeds), confidence=confidence
        )
        weight = _weight(truth, paired_succeeds)
    elif method == "betting":
        low, high = _betting(truth, paired, in_twin, confidence)
        weight = min(max(_weight(truth, paired), 0.0), 1.0)
        estimate = float(truth.mean() + weight * (in_twin.mean() - paired.mean()))
    else:
        estimate, low, high, weight = normal(truth, paired, in_twin, confidence=confidence)
    real_low, real_high = clopper_pearson(hits, n, confidence=confidence)
    apart = float(paired.std() * truth.std())
    return Combined(
        method=method, confidence=confidence, trials=n, twin_trials=len(in_twin),
        estimate=float(np.clip(estimate, 0, 1)), low=float(low), high=float(high),
        real_rate=hits / n, real_low=float(real_low), real_high=float(real_high), twin_rate=float(in_twin.mean()),
        weight=float(weight), correlation=float(np.corrcoef(truth, paired)[0, 1]) if apart > 0 else None,
        worth_trials=round(n * float((real_high - real_low) / (high - low)) ** 2) if high > low else None,
    )  # fmt: skip


def strata(
    n_yes: ArrayLike,
    hits_yes: ArrayLike,
    n_no: ArrayLike,
    hits_no: ArrayLike,
    many_yes: ArrayLike,
    twin_trials: ArrayLike,
    *,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (estimate, low, high), element by element, by the method `strata` (see the module docstring).

    Where the twin reduces the width by less than LEAST_GAIN, the real trials alone are used.

    Args:
        n_yes, hits_yes: real trials and successes under conditions in which the twin succeeds.
        n_no, hits_no: real trials and successes under conditions in which the twin fails.
        many_yes, twin_trials: successes and number of twin trials under other conditions.
    """
    n1, x1, n0, x0, yes, all_ = (
        np.asarray(counts, float) for counts in (n_yes, hits_yes, n_no, hits_no, many_yes, twin_trials)
    )
    share = (yes + n1) / (all_ + n1 + n0)
    # A stratum without real trials gets the pooled rate as estimate and the interval 0 to 1.
    pooled = (x1 + x0 + 0.5) / (n1 + n0 + 1)
    rate1 = np.where(n1 > 0, x1 / np.maximum(n1, 1), pooled)
    rate0 = np.where(n0 > 0, x0 / np.maximum(n0, 1), pooled)
    (low1, high1), (low0, high0) = (clopper_pearson(*counts, confidence=confidence) for counts in ((x1, n1), (x0, n0)))
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    loose = (z * (rate1 - rate0)) ** 2 * share * (1 - share) / (all_ + n1 + n0)
    estimate = share * rate1 + (1 - share) * rate0
    down = np.sqrt((share * (rate1 - low1)) ** 2 + ((1 - share) * (rate0 - low0)) ** 2 + loose)
    up = np.sqrt((share * (high1 - rate1)) ** 2 + ((1 - share) * (high0 - rate0)) ** 2 + loose)
    low, high = np.maximum(estimate - down, 0), np.minimum(estimate + up, 1)
    low_alone, high_alone = clopper_pearson(x1 + x0, n1 + n0, confidence=confidence)
    alone = (1 - LEAST_GAIN) * (high_alone - low_alone) < high - low
    simple = (x1 + x0) / np.maximum(n1 + n0, 1)
    return np.where(alone, simple, estimate), np.where(alone, low_alone, low), np.where(alone, high_alone, high)


def normal(
    truth: np.ndarray, paired: np.ndarray, in_twin: np.ndarray, *, confidence: float
) -> tuple[float, float, float, float]:
    """Return (estimate, low, high, weight) of PPI++ for a mean."""
    n = len(truth)
    weight = _weight(truth, paired) / (1 + n / len(in_twin))
    left = truth - weight * paired
    estimate = float(weight * in_twin.mean() + left.mean())
    spread = float(left.var(ddof=1)) if n > 1 else 0.25
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    reach = z * np.sqrt(weight**2 * in_twin.var() / len(in_twin) + spread / n)
    return estimate, max(0.0, estimate - reach), min(1.0, estimate + reach), weight


def _weight(truth: np.ndarray, paired: np.ndarray) -> float:
    """Slope of the regression of real outcomes on twin outcomes; 0 if the twin's outcomes do not vary."""
    centred = paired - paired.mean()
    spread = float(centred @ centred)
    return float(truth @ centred) / spread if spread > 0 else 0.0


def _betting(truth: np.ndarray, paired: np.ndarray, in_twin: np.ndarray, confidence: float) -> tuple[float, float]:
    n = len(truth)
    weights = _learnt_weights(truth, paired)
    # Each real trial is compared with its own part of the twin trials, so that the residuals are independent.
    usual = np.array([part.mean() if len(part) else 0.0 for part in np.array_split(in_twin, n)])
    weights = np.where([len(part) > 0 for part in np.array_split(in_twin, n)], weights, 0.0)
    left = truth - weights * (paired - usual)
    error = (1 - confidence) / 2
    return _refuted(left, weights, error), 1 - _refuted(1 - left, weights, error)


def _learnt_weights(truth: np.ndarray, paired: np.ndarray) -> np.ndarray:
    """(n,) weight of each trial, learnt from the trials before it.

    The weights are shrunk towards 0 as if by four more trials in which the twin did not help.
    """
    before = np.arange(len(truth))
    sums = [np.concatenate([[0.0], np.cumsum(values)[:-1]]) for values in (truth, paired, truth * paired, paired**2)]
    count = np.maximum(before, 1)
    together = sums[2] - sums[0] * sums[1] / count
    spread = sums[3] - sums[1] ** 2 / count
    return np.clip(together / (spread + 1), 0, 1)


def _refuted(left: np.ndarray, weights: np.ndarray, error: float) -> float:
    """Return the largest m for which "the mean of `left` is at most m" is refuted; `left` is in -weight .. 1 + weight.

    The limit is found by bisection.
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        logs = np.log(ANYWHERE.factors(left + weights, middle + weights)).sum(axis=0)
        refuted = scipy.special.logsumexp(ANYWHERE.log_weights + logs) >= -np.log(error)
        low, high = (middle, high) if refuted else (low, middle)
    return low

"""Few real trials and many in the twin, together: how often does the policy succeed in reality?

Real trial i is repeated in the twin under the same conditions, and the twin also plays many conditions that nobody
tried in reality. Where the twin tells how a trial ends, even wrongly but consistently so, less is left to chance.
That is prediction-powered inference (Angelopoulos and others, Science 2023; with the weight tuned: PPI++, 2023). No
interval here rests on the twin being right: a biased one makes it no less true, an unrelated one hardly wider.

    strata   The real rate is the mean of two: that of conditions in which the twin succeeds, and that of those in
             which it fails, weighted by how often the twin does. Both are counted exactly, their errors added as
             squares (as Newcombe, and Zou and Donner 2008, do for differences). For yes and no this is PPI++ at its
             best weight, without the normal approximation. Unless it is narrower by a tenth than the real trials
             alone, these are taken: no twin makes it worse. The default; that it covers is measured, not proven.
    betting  Finite-sample: wrong at most as often as it says by proof, at any number of trials, and wider for it.
             Bets on real outcomes less what the twin explains, the weight learnt from the trials before.
    normal   PPI++ as published. Too narrow below a hundred trials; here to compare with.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from twinloop.gate.statistics.bets import ANYWHERE
from twinloop.gate.statistics.binomial import clopper_pearson

Method = Literal["strata", "betting", "normal"]
METHODS: tuple[Method, ...] = ("strata", "betting", "normal")
HALVINGS = 40
LEAST_GAIN = 0.1
"""Of the width. For less the twin is not asked: to take whichever interval is narrower is a choice by the data, and at
ten trials it would show in the coverage."""


@dataclass(frozen=True)
class Combined:
    """The real success rate, from both.

    weight: how far a twin's success moves the expectation of the real one: 0 unrelated, 1 the same.
    real_low, real_high: what the real trials alone show (Clopper-Pearson, same confidence).
    worth_trials: about as many real trials would be needed for an interval as narrow without the twin: widths shrink
        with the square root of the trials. None for an interval that is a point, as `normal` may give.
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def combine(
    real: Sequence[bool] | np.ndarray,
    twin_paired: ArrayLike,
    twin_many: ArrayLike,
    *,
    confidence: float = 0.95,
    method: Method = "strata",
) -> Combined:
    """real: (n,) outcomes. twin_paired: (n,) of the twin under the same conditions, or its rate over several goes.
    twin_many: (m,) of the twin under conditions drawn in the same way, of which no real trial was one."""
    truth, paired, many = (np.asarray(each, float) for each in (real, twin_paired, twin_many))
    if truth.shape != paired.shape or truth.ndim != 1 or not len(truth) or many.ndim != 1 or not len(many):
        raise ValueError(
            f"{truth.shape} real, {paired.shape} paired and {many.shape} twin trials were given; as many paired as "
            "real ones were expected, and at least one of each"
        )
    if not all(((each >= 0) & (each <= 1)).all() for each in (truth, paired, many)):
        raise ValueError("outcomes from 0 to 1 were expected, of which none is missing")
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("real outcomes are success or failure: 1 or 0 was expected")
    # Decided beforehand, not by the data: a condition is one that the twin manages if it does so half of the time.
    says, said = (paired >= 0.5).astype(float), (many >= 0.5).astype(float)
    n, hits = len(truth), int(truth.sum())
    if method == "strata":
        n_yes, hits_yes = says.sum(), (truth * says).sum()
        estimate, low, high = strata(
            n_yes, hits_yes, n - n_yes, hits - hits_yes, said.sum(), len(said), confidence=confidence
        )
        weight = _weight(truth, says)
    elif method == "betting":
        low, high = _betting(truth, paired, many, confidence)
        weight = min(max(_weight(truth, paired), 0.0), 1.0)
        estimate = float(truth.mean() + weight * (many.mean() - paired.mean()))
    else:
        estimate, low, high, weight = normal(truth, paired, many, confidence=confidence)
    real_low, real_high = clopper_pearson(hits, n, confidence=confidence)
    apart = float(paired.std() * truth.std())
    return Combined(
        method=method, confidence=confidence, trials=n, twin_trials=len(many),
        estimate=float(np.clip(estimate, 0, 1)), low=float(low), high=float(high),
        real_rate=hits / n, real_low=float(real_low), real_high=float(real_high), twin_rate=float(many.mean()),
        weight=float(weight), correlation=float(np.corrcoef(truth, paired)[0, 1]) if apart > 0 else None,
        worth_trials=round(n * float((real_high - real_low) / (high - low)) ** 2) if high > low else None,
    )  # fmt: skip


def strata(
    n_yes: ArrayLike,
    hits_yes: ArrayLike,
    n_no: ArrayLike,
    hits_no: ArrayLike,
    many_yes: ArrayLike,
    many: ArrayLike,
    *,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(estimate, low, high) from the real trials where the twin says yes, those where it says no, and how often it
    says yes; or from the real trials alone, where the twin gains little. Element by element."""
    n1, x1, n0, x0, yes, all_ = (np.asarray(each, float) for each in (n_yes, hits_yes, n_no, hits_no, many_yes, many))
    share = (yes + n1) / (all_ + n1 + n0)
    # A kind of condition that no real trial met is put where the others are, and may be anywhere from 0 to 1.
    pooled = (x1 + x0 + 0.5) / (n1 + n0 + 1)
    rate1 = np.where(n1 > 0, x1 / np.maximum(n1, 1), pooled)
    rate0 = np.where(n0 > 0, x0 / np.maximum(n0, 1), pooled)
    (low1, high1), (low0, high0) = (clopper_pearson(*each, confidence=confidence) for each in ((x1, n1), (x0, n0)))
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
    truth: np.ndarray, paired: np.ndarray, many: np.ndarray, *, confidence: float
) -> tuple[float, float, float, float]:
    """(estimate, low, high, weight) of PPI++ for a mean."""
    n = len(truth)
    weight = _weight(truth, paired) / (1 + n / len(many))
    left = truth - weight * paired
    estimate = float(weight * many.mean() + left.mean())
    spread = float(left.var(ddof=1)) if n > 1 else 0.25
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    reach = z * np.sqrt(weight**2 * many.var() / len(many) + spread / n)
    return estimate, max(0.0, estimate - reach), min(1.0, estimate + reach), weight


def _weight(truth: np.ndarray, paired: np.ndarray) -> float:
    """The slope of reality on the twin; 0 where the twin always says the same."""
    centred = paired - paired.mean()
    spread = float(centred @ centred)
    return float(truth @ centred) / spread if spread > 0 else 0.0


def _betting(truth: np.ndarray, paired: np.ndarray, many: np.ndarray, confidence: float) -> tuple[float, float]:
    n = len(truth)
    weights = _learnt_weights(truth, paired)
    # Every trial has twin trials of its own to be compared with, so that what is left of each is independent.
    usual = np.array([part.mean() if len(part) else 0.0 for part in np.array_split(many, n)])
    weights = np.where([len(part) > 0 for part in np.array_split(many, n)], weights, 0.0)
    left = truth - weights * (paired - usual)
    error = (1 - confidence) / 2
    return _refuted(left, weights, error), 1 - _refuted(1 - left, weights, error)


def _learnt_weights(truth: np.ndarray, paired: np.ndarray) -> np.ndarray:
    """(n,) each from the trials before it, drawn towards 0 as by four in which the twin was of no help."""
    before = np.arange(len(truth))
    sums = [np.concatenate([[0.0], np.cumsum(each)[:-1]]) for each in (truth, paired, truth * paired, paired**2)]
    many = np.maximum(before, 1)
    together = sums[2] - sums[0] * sums[1] / many
    spread = sums[3] - sums[1] ** 2 / many
    return np.clip(together / (spread + 1), 0, 1)


def _refuted(left: np.ndarray, weights: np.ndarray, error: float) -> float:
    """The largest m for which "the mean of `left` is at most m" is refuted; left lies in -weight .. 1 + weight."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        logs = np.log(ANYWHERE.factors(left + weights, middle + weights)).sum(axis=0)
        refuted = scipy.special.logsumexp(ANYWHERE.log_weights + logs) >= -np.log(error)
        low, high = (middle, high) if refuted else (low, middle)
    return low

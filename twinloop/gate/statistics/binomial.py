"""Binomial success rates: exact intervals, one-sided bounds, the exact test of a rate, and the trials it needs."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from twinloop.curate.intervals import wilson

Kind = Literal["wilson", "exact"]
MOST_TRIALS = 20_000


@dataclass(frozen=True)
class RateBound:
    """A success rate with one-sided bounds. Each bound alone holds with the given confidence.

    Without trials, `rate` is None and the bounds are 0 and 1.
    """

    successes: int
    trials: int
    confidence: float
    kind: Kind
    rate: float | None
    low: float
    high: float


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Clopper-Pearson interval (low, high), element by element.

    The coverage is at least `confidence` for any rate and number of trials. At each end, one tail of the binomial
    distribution has probability (1 - confidence) / 2. The ends are quantiles of Beta(s, n - s + 1) and
    Beta(s + 1, n - s). Without trials the interval is (0, 1).
    """
    hits, n = _counts(successes, trials)
    return _beta_ends(hits, n, _tail(confidence) / 2)


def rate_bound(successes: int, trials: int, *, confidence: float = 0.95, kind: Kind = "exact") -> RateBound:
    """Return one-sided bounds: the rate is at least `low`, and at most `high`, each with this confidence."""
    hits, n = _counts(successes, trials)
    tail = _tail(confidence)
    if kind == "exact":
        low, high = _beta_ends(hits, n, tail)
    elif confidence > 0.5:
        low, high = wilson(hits, n, confidence=1 - 2 * tail)
    else:
        raise ValueError(f"confidence: {confidence} was given, more than 0.5 was expected for a Wilson bound")
    rate = float(hits / n) if n > 0 else None
    return RateBound(int(successes), int(trials), confidence, kind, rate, float(low), float(high))


@dataclass(frozen=True)
class FixedTest:
    """A test with a fixed number of trials that accepts if at least `needed` of `trials` succeed.

    Attributes:
        error: exact probability of accepting at rate `null`.
        power: exact probability of accepting at rate `target`.
    """

    null: float
    target: float
    trials: int
    needed: int
    error: float
    power: float


def fixed_test(*, null: float, target: float, error: float = 0.05, miss: float = 0.1) -> FixedTest:
    """Return the smallest exact test of "the rate is `null` or less".

    It accepts with probability at most `error` at rate `null`, and at least 1 - `miss` at rate `target`.
    """
    if not 0 < null < target <= 1:
        raise ValueError(f"null {null} and target {target} were given; 0 < null < target <= 1 was expected")
    quantile = NormalDist().inv_cdf
    z = quantile(1 - error) * np.sqrt(null * (1 - null)) + quantile(1 - miss) * np.sqrt(target * (1 - target))
    guess = int((z / (target - null)) ** 2)
    # The power of exact tests is not monotone in the number of trials: the search starts well below the approximation.
    for trials in range(max(1, guess // 3), MOST_TRIALS):
        needed = np.arange(trials + 2)
        wrong = np.where(needed == 0, 1.0, scipy.special.bdtrc(needed - 1.0, trials, null))
        least = int(np.argmax(wrong <= error))
        power = float(scipy.special.bdtrc(least - 1.0, trials, target)) if least <= trials else 0.0
        if power >= 1 - miss:
            return FixedTest(null, target, trials, least, float(wrong[least]), power)
    raise ValueError(f"null {null} and target {target} are too close: more than {MOST_TRIALS:,} trials are needed")


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    hits, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if not (np.isfinite(hits) & np.isfinite(n) & (hits >= 0) & (hits <= n)).all():
        raise ValueError(f"{successes} successes of {trials} trials: from 0 to the number of trials was expected")
    return hits, n


def _tail(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} was given, a number between 0 and 1 was expected")
    return 1 - confidence


def _beta_ends(hits: np.ndarray, n: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    at_least_one, missed = np.maximum(hits, 1), np.maximum(n - hits, 1)
    low = np.where(hits == 0, 0.0, scipy.special.betaincinv(at_least_one, n - at_least_one + 1, tail))
    high = np.where(hits == n, 1.0, scipy.special.betaincinv(n - missed + 1, missed, 1 - tail))
    return low, high

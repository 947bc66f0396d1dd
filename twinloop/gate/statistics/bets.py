"""Bets: sequential evidence about a mean, valid after every trial.

The claim is that the mean of numbers in 0..1 is at most m. A bet against the claim puts a share c of the wealth on each
number z, at odds that are fair if the claim is true. The wealth is then multiplied by 1 - c + c z/m. While the claim
holds, the expected wealth does not grow, for any dependence between the numbers. By Ville's inequality, the probability
that a wealth of 1 ever reaches 1/a is at most a, over all looks together. The wealth may be divided among several
shares. The method is from Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024).
For successes and failures it is a mixture of likelihood ratios.

The claim "at least m" is tested by the same bet on 1 - z and 1 - m.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

SHARES = 40
HALVINGS = 40
AIMED = 0.9
"""Share of the wealth on the best bet for the expected mean. The rest covers other means and costs a trial or two."""


@dataclass(frozen=True)
class Bets:
    """A mixture of bets.

    Attributes:
        shares: shares of the wealth that are put on each number.
        weights: division of the initial wealth among the shares.
    """

    shares: np.ndarray
    weights: np.ndarray

    @cached_property
    def log_weights(self) -> np.ndarray:
        return np.log(self.weights)

    def factors(self, values: ArrayLike, most: ArrayLike) -> np.ndarray:
        """(..., shares) factor by which each value multiplies the wealth, against "the mean is at most `most`"."""
        ratio = np.asarray(values, float) / np.asarray(most, float)
        return 1 - self.shares + self.shares * ratio[..., None]

    def log_wealth(self, values: ArrayLike, counts: ArrayLike, most: ArrayLike) -> np.ndarray:
        """Log of the wealth, from an initial wealth of 1, after `counts` (..., k) of each of `values` (k,)."""
        logs = np.log(self.factors(np.asarray(values, float), np.asarray(most, float)[..., None]))
        grown = (np.asarray(counts, float)[..., None] * logs).sum(axis=-2)
        return np.asarray(scipy.special.logsumexp(self.log_weights + grown, axis=-1))


def bets(*, aimed: float | None = None, shares: int = SHARES) -> Bets:
    """Return bets on shares over 0..1, denser towards both ends, with most of the wealth on `aimed` if it is given."""
    spread = np.sin(np.pi * (np.arange(shares) + 0.5) / (2 * shares)) ** 2
    even = np.full(shares, 1 / shares)
    if aimed is None:
        return Bets(spread, even)
    if not 0 < aimed < 1:
        raise ValueError(f"aimed: {aimed} was given, a share between 0 and 1 was expected")
    return Bets(np.append(spread, aimed), np.append(even * (1 - AIMED), AIMED))


def best_share(values: ArrayLike, chances: ArrayLike, most: float) -> float:
    """Return the share with the largest expected log gain per number against "the mean is at most `most`".

    The expectation is over `values` with probabilities `chances`.
    """
    # A share of 1 would lose all wealth at the first 0, so the largest share is 0.999.
    shares = np.linspace(0.001, 0.999, 999)
    gain = np.log(Bets(shares, shares).factors(values, most)).T @ np.asarray(chances, float)
    return float(shares[np.argmax(gain)])


ANYWHERE = bets()


def lower_limit(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> float:
    """Return the largest m for which the claim "the mean is at most m" is refuted.

    The mean is above this limit at all looks together, with error probability at most `error`. The wealth falls as m
    grows, so the limit is found by bisection.
    """
    return float(lower_limits(values, np.asarray(counts, float)[None], error=error, using=using)[0])


def lower_limits(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> np.ndarray:
    """(n,) lower limits, one for each row of `counts` (n, k)."""
    tallies = np.asarray(counts, float)
    low, high = np.zeros(len(tallies)), np.ones(len(tallies))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        refuted = using.log_wealth(values, tallies, middle) >= -np.log(error)
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def limits(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> tuple[float, float]:
    """Confidence sequence: the probability that the mean is ever outside, over all looks, is at most `error`."""
    numbers = np.asarray(values, float)
    return (
        lower_limit(numbers, counts, error=error / 2, using=using),
        1 - lower_limit(1 - numbers, counts, error=error / 2, using=using),
    )

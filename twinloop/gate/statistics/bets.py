"""Bets: evidence that may be looked at after every trial.

Somebody claims that the mean of numbers in 0..1 is at most m. Bet against the claim: of the money at hand put the share
c on each number z, at odds that are fair if the claim is true; the money becomes 1 - c + c z/m times as much. While the
claim holds, money does not grow on average whatever the numbers depend on, so the chance that 1 unit ever becomes 1/a
is at most a (Ville's inequality), at every look taken together. Money spread over several shares is as fair. This is
betting as in Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024); for successes
it is the mixture of likelihood ratios.

"At least m" is the same bet on 1 - z and 1 - m.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

SHARES = 40
HALVINGS = 40
AIMED = 0.9
"""Of the money, where it is known what to hope for. The rest is for other truths; it costs a trial or two."""


@dataclass(frozen=True)
class Bets:
    """Shares of the money that are put on each number, and how the money is divided among them at the start."""

    shares: np.ndarray
    weights: np.ndarray

    @cached_property
    def log_weights(self) -> np.ndarray:
        return np.log(self.weights)

    def factors(self, values: ArrayLike, most: ArrayLike) -> np.ndarray:
        """(..., shares) what a number turns one unit into, against "the mean is at most `most`"."""
        ratio = np.asarray(values, float) / np.asarray(most, float)
        return 1 - self.shares + self.shares * ratio[..., None]

    def log_money(self, values: ArrayLike, counts: ArrayLike, most: ArrayLike) -> np.ndarray:
        """The logarithm of what one unit has become after `counts` (..., k) of each of `values` (k,)."""
        logs = np.log(self.factors(np.asarray(values, float), np.asarray(most, float)[..., None]))
        grown = (np.asarray(counts, float)[..., None] * logs).sum(axis=-2)
        return np.asarray(scipy.special.logsumexp(self.log_weights + grown, axis=-1))


def bets(*, aimed: float | None = None, shares: int = SHARES) -> Bets:
    """Money on shares all over 0..1, denser towards both ends; most of it on `aimed`, where that is known."""
    spread = np.sin(np.pi * (np.arange(shares) + 0.5) / (2 * shares)) ** 2
    even = np.full(shares, 1 / shares)
    if aimed is None:
        return Bets(spread, even)
    if not 0 < aimed < 1:
        raise ValueError(f"aimed: {aimed} was given, a share between 0 and 1 was expected")
    return Bets(np.append(spread, aimed), np.append(even * (1 - AIMED), AIMED))


def best_share(values: ArrayLike, chances: ArrayLike, most: float) -> float:
    """The one that gains most a number, if `values` come with these `chances`: against "the mean is at most `most`"."""
    # All the money on a number is lost with the first 0, so a little is kept back.
    shares = np.linspace(0.001, 0.999, 999)
    gain = np.log(Bets(shares, shares).factors(values, most)).T @ np.asarray(chances, float)
    return float(shares[np.argmax(gain)])


ANYWHERE = bets()


def lower_limit(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> float:
    """The largest claim "at most m" that the money refutes: the mean is above it, at all looks, but for `error`.

    The money falls as m grows, so the limit is found by halving.
    """
    return float(lower_limits(values, np.asarray(counts, float)[None], error=error, using=using)[0])


def lower_limits(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> np.ndarray:
    """(n,) of `counts` (n, k)."""
    tallies = np.asarray(counts, float)
    low, high = np.zeros(len(tallies)), np.ones(len(tallies))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        refuted = using.log_money(values, tallies, middle) >= -np.log(error)
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def limits(values: ArrayLike, counts: ArrayLike, *, error: float, using: Bets = ANYWHERE) -> tuple[float, float]:
    """A confidence sequence: over all looks together the mean leaves these limits at most `error` of the time."""
    numbers = np.asarray(values, float)
    return (
        lower_limit(numbers, counts, error=error / 2, using=using),
        1 - lower_limit(1 - numbers, counts, error=error / 2, using=using),
    )


def limits_of(numbers: ArrayLike, *, error: float) -> tuple[float, float]:
    """`limits` of the mean of numbers in 0..1, of which each may be another."""
    given = np.asarray(numbers, float)
    if given.size and not ((given >= 0) & (given <= 1)).all():
        raise ValueError("numbers from 0 to 1 were expected")
    return limits(given, np.ones(len(given)), error=error) if given.size else (0.0, 1.0)

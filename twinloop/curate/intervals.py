"""Wilson's confidence interval of a rate."""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike


def wilson(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) confidence interval of the rate for `successes` of `trials`, element by element.

    With z the normal quantile, n trials and p = successes / n, the ends are
    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n). Unlike p ± z √(p(1-p)/n) the interval stays within 0..1 and does
    not collapse to a point when all trials, or none, succeed. Without trials it is (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} was given, a number between 0 and 1 was expected")
    hits, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if (hits < 0).any() or (hits > n).any():
        raise ValueError("successes must lie between 0 and the number of trials")
    count = np.maximum(n, 1)
    rate, square = hits / count, NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = rate + square / (2 * count)
    reach = np.sqrt(square * (rate * (1 - rate) / count + square / (4 * count**2)))
    scale = 1 + square / count
    # The ends for no and for all successes are exactly 0 and 1; rounding would make them slightly different.
    low = np.where(hits == 0, 0.0, (centre - reach) / scale)
    high = np.where(hits == n, 1.0, (centre + reach) / scale)
    return low, high

"""Success rates: exact intervals, bounds and tests, also for 0 and n successes."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from twinloop.gate.statistics.binomial import (
    clopper_pearson,
    fixed_test,
    rate_bound,
)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 10), (97, 100), (1, 1)])
def test_the_exact_interval_is_clopper_and_pearsons(hits: int, n: int):
    low, high = clopper_pearson(hits, n)
    expected = binomtest(hits, n).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [5, 20, 80])
def test_the_coverage_is_at_least_nominal_at_any_rate(rate: float, n: int):
    hits = np.arange(n + 1)
    low, high = clopper_pearson(hits, n)
    chance = binom.pmf(hits, n, rate)
    assert chance[(low <= rate) & (rate <= high)].sum() >= 0.95
    bounds = np.array([rate_bound(int(hit), n).low for hit in hits])
    assert chance[bounds <= rate].sum() >= 0.95


def test_without_trials_every_rate_is_possible():
    assert [float(end) for end in clopper_pearson(0, 0)] == [0, 1]
    result = rate_bound(0, 0)
    assert (result.rate, result.low, result.high) == (None, 0, 1)


def test_bounds_of_none_and_all():
    assert rate_bound(10, 10).low == pytest.approx(0.05 ** (1 / 10))
    assert rate_bound(0, 10).high == pytest.approx(1 - 0.05 ** (1 / 10))
    assert rate_bound(10, 10).high == 1
    assert rate_bound(0, 10).low == 0


def test_more_successes_never_lower_a_bound_and_wilsons_is_the_bolder():
    exact = [rate_bound(hits, 40) for hits in range(41)]
    bold = [rate_bound(hits, 40, kind="wilson") for hits in range(41)]
    assert all(a.low < b.low and a.high < b.high for a, b in pairwise(exact) if b.high < 1)
    assert all(b.low >= e.low and b.high <= e.high for e, b in zip(exact[1:-1], bold[1:-1], strict=True))


def test_the_fixed_test_has_its_error_rates_with_the_fewest_trials():
    result = fixed_test(null=0.7, target=0.9)
    assert binom.sf(result.needed - 1, result.trials, 0.7) == pytest.approx(result.error)
    assert result.error <= 0.05
    assert binom.sf(result.needed - 1, result.trials, 0.9) == pytest.approx(result.power)
    assert result.power >= 0.9
    fewer = result.trials - 1
    needed = next(successes for successes in range(fewer + 2) if binom.sf(successes - 1, fewer, 0.7) <= 0.05)
    assert binom.sf(needed - 1, fewer, 0.9) < 0.9


@pytest.mark.parametrize("wrong", [(-1, 5), (6, 5), (float("nan"), 5)])
def test_impossible_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="successes of 5 trials"):
        clopper_pearson(*wrong)
    with pytest.raises(ValueError, match=r"more than 0\.5"):
        rate_bound(1, 2, confidence=0.4, kind="wilson")
    with pytest.raises(ValueError, match="null < target"):
        fixed_test(null=0.9, target=0.9)

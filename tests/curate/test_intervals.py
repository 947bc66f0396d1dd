import numpy as np
import pytest
from scipy.stats import binomtest

from twinloop.curate.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_known_values(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_equals_scipys():
    trials = np.arange(1, 40)
    for successes in range(40):
        counted = trials[trials >= successes]
        for confidence in (0.8, 0.95, 0.999):
            low, high = wilson(successes, counted, confidence=confidence)
            theirs = [binomtest(successes, int(n)).proportion_ci(confidence, method="wilson") for n in counted]
            np.testing.assert_allclose(low, [interval.low for interval in theirs], atol=1e-12)
            np.testing.assert_allclose(high, [interval.high for interval in theirs], atol=1e-12)


def test_no_trials_leave_everything_possible():
    assert wilson(0, 0) == (0.0, 1.0)


def test_failure_mirrors_success():
    hits, trials = np.array([0, 3, 50, 99]), np.array([4, 9, 100, 100])
    low, high = wilson(hits, trials)
    other_low, other_high = wilson(trials - hits, trials)
    np.testing.assert_allclose(low, 1 - other_high)
    np.testing.assert_allclose(high, 1 - other_low)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="successes"):
        wilson(5, 4)

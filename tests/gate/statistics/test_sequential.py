"""Sequential tests: error rates hold when the result is checked after every trial, and clear cases end early."""

import numpy as np
import pytest

from twinloop.gate.statistics.bets import ANYWHERE, best_share, bets, limits
from twinloop.gate.statistics.binomial import fixed_test
from twinloop.gate.statistics.expectation import expect
from twinloop.gate.statistics.sequential import PairPlan, RatePlan

SERIES = 3000
NOISE = 3 * np.sqrt(0.05 * 0.95 / SERIES)


@pytest.mark.parametrize(("null", "target"), [(0.5, 0.7), (0.7, 0.9), (0.9, 0.98)])
def test_a_rate_is_judged_wrongly_no_more_often_than_promised(null: float, target: float):
    plan, fixed = RatePlan(null, target), fixed_test(null=null, target=target)
    at_null = expect(plan, (1 - null, null), series=SERIES, most_trials=8 * fixed.trials, seed=1)
    at_target = expect(plan, (1 - target, target), series=SERIES, most_trials=8 * fixed.trials, seed=2)
    assert at_null.accepted <= 0.05 + NOISE
    assert at_target.rejected <= 0.1 + NOISE
    assert at_target.accepted >= 0.9 - NOISE
    # Fewer trials than a test with a fixed number of trials.
    assert at_null.mean_trials < 0.7 * fixed.trials
    assert at_target.mean_trials < 0.9 * fixed.trials


@pytest.mark.parametrize("rate", [0.2, 0.7, 0.95])
def test_equal_arms_are_accepted_at_most_at_the_error_rate(rate: float):
    differ = rate * (1 - rate)
    result = expect(PairPlan(0.0, 0.2), (differ, 1 - 2 * differ, differ), series=SERIES, most_trials=400, seed=3)
    assert result.accepted <= 0.05 + NOISE


def test_changing_conditions_do_not_raise_the_error_rate():
    """Both arms get worse in the middle. Pairs have the same conditions, so the error rate holds."""
    rng = np.random.default_rng(4)
    plan = PairPlan(0.0, 0.2)
    gains = plan.factors()[0]
    rate = np.where(np.arange(300) < 60, 0.95, 0.3)
    wealth = np.ones((SERIES, gains.shape[1]))
    fooled = np.zeros(SERIES, bool)
    for chance in rate:
        ours, theirs = rng.random((2, SERIES)) < chance
        wealth *= gains[1 + ours.astype(int) - theirs.astype(int)]
        fooled |= wealth @ plan.bets_for.weights >= 1 / plan.error
    assert fooled.mean() <= 0.05 + NOISE


@pytest.mark.slow
def test_limits_hold_at_all_looks_together():
    """The rate is outside its limits exactly if the bets against it reach the threshold, so these are counted."""
    rng = np.random.default_rng(5)
    seen, values = np.arange(1, 101), np.array([0.0, 1.0])
    for rate in (0.5, 0.9, 0.99):
        hits = np.cumsum(rng.random((SERIES, 100)) < rate, axis=1)
        counts = np.stack([seen - hits, hits], -1)
        above = np.concatenate([ANYWHERE.log_wealth(values, part, rate) for part in np.split(counts, 10)])
        below = np.concatenate([ANYWHERE.log_wealth(1 - values, part, 1 - rate) for part in np.split(counts, 10)])
        assert (np.maximum(above, below) >= np.log(40)).any(axis=1).mean() <= 0.05 + NOISE
        row, look = 7, 60
        low, high = limits(values, counts[row, look], error=0.05)
        assert (low <= rate) == (above[row, look] < np.log(40))
        assert (high >= rate) == (below[row, look] < np.log(40))


def test_more_of_the_same_is_clearer():
    plan = RatePlan(0.7, 0.9)
    results = [plan.judge((0, n)) for n in (0, 5, 10, 20, 40)]
    assert [state.log_evidence_for for state in results] == sorted(state.log_evidence_for for state in results)
    assert [state.decision for state in results][:2] == ["continue", "continue"]
    assert results[-1].decision == "accept"
    assert plan.judge((8, 2)).decision == "reject"
    widths = [state.high - state.low for state in results]
    assert widths == sorted(widths, reverse=True)


def test_without_trials_every_rate_is_possible():
    for plan, none in ((RatePlan(0.7, 0.9), (0, 0)), (PairPlan(0.0, 0.2), (0, 0, 0))):
        result = plan.judge(none)
        assert (result.decision, result.trials, result.estimate) == ("continue", 0, None)
        assert (result.low, result.high) == pytest.approx(plan.scale)
    assert limits([0.0, 1.0], [0, 0], error=0.05) == pytest.approx((0, 1), abs=1e-6)


def test_trials_are_counted_in_pairs_in_their_order():
    result = PairPlan(0.0, 0.2).judge_trials([True, True, False, True], [False, True, True])
    assert result.counted == {"only_control": 1, "same": 1, "only_candidate": 1}
    assert result.estimate == 0
    assert RatePlan(0.5, 0.8).judge_trials(np.array([1, 0, 1])).counted == {"failures": 1, "successes": 2}


def test_the_best_share_of_a_coin_is_kellys():
    assert best_share([0.0, 1.0], [0.1, 0.9], 0.7) == pytest.approx((0.9 - 0.7) / (1 - 0.7), abs=0.001)


def test_a_bet_is_fair_at_the_null():
    every = bets(aimed=0.4)
    expected = 0.3 * every.factors(1.0, 0.3) + 0.7 * every.factors(0.0, 0.3)
    assert expected == pytest.approx(1)
    low, high = limits([0.0, 1.0], [3, 9], error=0.05)
    assert low < 0.75 < high


@pytest.mark.parametrize("wrong", [(0.9, 0.7), (0.0, 0.5), (0.5, 1.0)])
def test_plans_that_make_no_sense_are_refused(wrong: tuple[float, float]):
    with pytest.raises(ValueError, match="null < target"):
        RatePlan(*wrong)
    with pytest.raises(ValueError, match="probability between 0 and 1"):
        RatePlan(0.5, 0.6, error=0)
    with pytest.raises(ValueError, match="only_candidate were expected"):
        PairPlan(0.0, 0.2).judge((1, 2))
    with pytest.raises(ValueError, match="sum to 1"):
        expect(RatePlan(0.5, 0.6), (0.5, 0.6), series=1, most_trials=1, seed=0)

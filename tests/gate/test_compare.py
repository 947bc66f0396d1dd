"""Two policies on the same draws: only draws in which one succeeds and the other fails count."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.gate.made_up import evaluation_of
from twinloop.errors import UsageError
from twinloop.gate import compare


def pair(both: int, only_ours: int, only_theirs: int, neither: int):
    ours = np.repeat([True, True, False, False], [both, only_ours, only_theirs, neither])
    theirs = np.repeat([True, False, True, False], [both, only_ours, only_theirs, neither])
    return compare(evaluation_of(ours, name="ours"), evaluation_of(theirs, name="theirs"))


@pytest.mark.parametrize("counts", [(50, 12, 3, 10), (0, 1, 0, 0), (80, 0, 0, 20), (40, 7, 7, 6), (5, 2, 19, 4)])
def test_the_test_is_the_exact_one(counts: tuple[int, int, int, int]):
    result = pair(*counts)
    _, b, c, _ = counts
    expected = binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert result.p_value == pytest.approx(expected)
    assert (result.both, result.only_ours, result.only_theirs, result.neither) == counts


def test_the_interval_covers_the_difference_and_changes_sign_with_the_order():
    result, turned = pair(50, 12, 3, 10), pair(50, 3, 12, 10)
    low, high = result.interval
    assert result.difference == pytest.approx(9 / 75)
    assert low < result.difference < high
    assert turned.difference == -result.difference
    assert turned.interval == pytest.approx((-high, -low))
    assert low > 0


def test_the_interval_has_its_nominal_coverage():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(2000):
        both, ours, theirs, neither = rng.multinomial(150, [0.75, 0.12, 0.05, 0.08])
        low, high = pair_counts(both, ours, theirs, neither).interval
        covered.append(low <= 0.07 <= high)
    assert 0.93 < np.mean(covered) < 0.98


def pair_counts(both: int, ours: int, theirs: int, neither: int):
    from twinloop.gate.compare import Comparison

    subject = evaluation_of(np.ones(3)).subject
    return Comparison(subject, subject, int(both), int(ours), int(theirs), int(neither), 0.0)


def test_two_policies_that_never_fail_do_not_differ():
    result = pair(100, 0, 0, 0)
    assert result.p_value == 1
    low, high = result.interval
    assert low < 0 < high
    assert high < 0.06


def test_only_the_attempts_of_both_are_compared():
    result = compare(evaluation_of(np.ones(50)), evaluation_of(np.zeros(80), first=20))
    assert result.trials == result.only_ours == 30


def test_completion_times_are_compared_where_both_succeed():
    ours, theirs = evaluation_of(np.ones(20)), evaluation_of(np.ones(20))
    theirs.outcomes.completion_s[:] += 0.5
    assert compare(ours, theirs).faster_s == pytest.approx(0.5)


def test_other_draws_are_not_compared():
    with pytest.raises(UsageError, match="seed is 7 in one and 8 in the other"):
        compare(evaluation_of(np.ones(5)), evaluation_of(np.ones(5), seed=8))
    with pytest.raises(UsageError, match="no attempt in common"):
        compare(evaluation_of(np.ones(5)), evaluation_of(np.ones(5), first=5))


def test_evaluations_of_different_engines_are_not_compared():
    here, there = (evaluation_of(np.ones(10, bool), name=name) for name in ("ours", "theirs"))
    versions = {**there.subject.versions, "mujoco_warp": "4.0.0", "warp_device": "cpu"}
    elsewhere = replace(there, subject=replace(there.subject, versions=versions))
    with pytest.raises(UsageError, match="mujoco and mujoco_warp on cpu"):
        compare(here, elsewhere)

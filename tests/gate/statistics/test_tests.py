"""Tests of one policy against another: never wrong more often than they say, whatever is not known."""

import numpy as np
import pytest
from scipy.stats import barnard_exact, binom, multinomial

from twinloop.gate.statistics.paired import mcnemar, paired_test
from twinloop.gate.statistics.unpaired import unpaired_test


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("differ", [0.12, 0.3, 0.7])
def test_paired_is_wrong_at_most_as_often_as_it_says(margin: float, differ: float):
    n = 14
    wins, losses = ((differ - margin) / 2, (differ + margin) / 2)
    wrong = sum(
        multinomial.pmf([won, lost, n - won - lost], n, [wins, losses, 1 - differ])
        for won in range(n + 1)
        for lost in range(n + 1 - won)
        if paired_test(n - won - lost, won, lost, 0, margin=margin).p_better <= 0.05
    )
    assert wrong <= 0.05


@pytest.mark.parametrize("margin", [0.0, 0.15])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.93])
def test_unpaired_is_wrong_at_most_as_often_as_it_says(margin: float, rate: float):
    m, n = 9, 12
    wrong = sum(
        binom.pmf(x, m, max(rate - margin, 0)) * binom.pmf(y, n, rate)
        for x in range(m + 1)
        for y in range(n + 1)
        if unpaired_test(x, m, y, n, margin=margin).p_better <= 0.05
    )
    assert wrong <= 0.05


def test_unpaired_is_barnards():
    expected = barnard_exact([[45, 33], [5, 17]], alternative="greater").pvalue
    assert unpaired_test(45, 50, 33, 50).p_better == pytest.approx(expected, rel=1e-3)


def test_the_unconditional_test_finds_more_than_mcnemars():
    found = [(paired_test(40, won, lost, 20).p_better, mcnemar(won, lost)) for won, lost in ((9, 2), (12, 3), (6, 0))]
    assert all(ours < theirs for ours, theirs in found)


def test_turned_round_better_is_worse():
    one, other = unpaired_test(9, 12, 5, 11), unpaired_test(5, 11, 9, 12)
    assert one.p_better == pytest.approx(other.p_worse)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_a_margin_makes_it_easier_and_wins_make_it_clearer():
    by_margin = [paired_test(30, 3, 4, 3, margin=margin).p_better for margin in (0, 0.05, 0.1, 0.2)]
    assert by_margin == sorted(by_margin, reverse=True)
    by_wins = [unpaired_test(hits, 20, 12, 20).p_better for hits in range(21)]
    assert by_wins == sorted(by_wins, reverse=True)


def test_nothing_seen_shows_nothing():
    assert paired_test(0, 0, 0, 0).p_better == paired_test(0, 0, 0, 0).p_worse == 1
    assert paired_test(50, 0, 0, 0).p_better == pytest.approx(1)
    empty = unpaired_test(0, 0, 3, 5)
    assert (empty.difference, empty.p_better, empty.p_worse, empty.low, empty.high) == (None, 1, 1, -1, 1)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="four counts"):
        paired_test(1, -1, 0, 0)
    with pytest.raises(ValueError, match="trials"):
        unpaired_test(6, 5, 0, 5)
    with pytest.raises(ValueError, match="margin"):
        unpaired_test(3, 5, 0, 5, margin=1.0)
    assert np.isfinite(paired_test(0, 0, 30, 0, margin=0.2).p_better)

"""The spread over seeds: Student's t interval of the mean, inside 0 and 1."""

import pytest

from twinloop.gate.several_seeds import summarise


def test_the_interval_is_that_of_student():
    summary = summarise({0: 0.5, 1: 0.6, 2: 0.7}, episodes=100)
    assert summary.mean == pytest.approx(0.6)
    # t(0.975, 2) = 4.303; standard error 0.1 / sqrt(3)
    assert summary.low == pytest.approx(0.6 - 4.303 * 0.1 / 3**0.5, abs=1e-3)
    assert summary.high == pytest.approx(0.6 + 4.303 * 0.1 / 3**0.5, abs=1e-3)


def test_the_interval_stays_between_0_and_1_and_one_seed_has_no_spread():
    assert summarise({0: 0.0, 1: 1.0}, episodes=10).low == 0
    one = summarise({4: 0.3}, episodes=10)
    assert one.low == one.mean == one.high == 0.3

"""Laws of intervals: they hold the truth as often as they say, and what differs between sensors widens ranges only."""

import numpy as np
import pytest

from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, profiled, together


def test_a_parabola_falls_by_what_90_percent_allow():
    found = profiled(lambda place: -0.5 * ((place - 3) / 0.2) ** 2, np.linspace(0, 10, 15))
    assert found.value == pytest.approx(3, abs=0.01)
    assert found.low == pytest.approx(3 - 1.645 * 0.2, abs=0.01)
    assert found.high == pytest.approx(3 + 1.645 * 0.2, abs=0.01)


def test_a_likelihood_that_never_falls_leaves_its_end_open():
    found = profiled(lambda place: -place, np.linspace(0, 5, 9))
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1.3528, abs=0.01)


def test_a_deviation_is_in_its_interval_nine_times_of_ten():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        found = deviation(2.5 * rng.standard_normal(30))
        hits += found.low <= 2.5 <= found.high
    assert 255 <= hits <= 285


def test_sensors_that_are_alike_make_each_other_surer():
    rng = np.random.default_rng(1)
    found = [deviation(3 * rng.standard_normal(200)) for _ in range(9)]
    mean, one = together(found)
    assert mean.low < 3 < mean.high
    assert mean.high - mean.low < 0.5 * (found[0].high - found[0].low)
    assert one.high - one.low < 1.6 * (found[0].high - found[0].low)


def test_sensors_that_differ_widen_the_range_to_hold_them():
    _, one = together([IntervalEstimate(value, 0.97 * value, 1.03 * value) for value in (1.0, 1.5, 2.0)])
    assert one.low < 1.05
    assert one.high > 1.95

"""Laws of intervals: nominal coverage; differences between sensors widen only the proposed ranges."""

import numpy as np
import pytest

from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, profiled, together


def test_the_interval_of_a_parabola_is_the_90_percent_interval():
    result = profiled(lambda place: -0.5 * ((place - 3) / 0.2) ** 2, np.linspace(0, 10, 15))
    assert result.value == pytest.approx(3, abs=0.01)
    assert result.low == pytest.approx(3 - 1.645 * 0.2, abs=0.01)
    assert result.high == pytest.approx(3 + 1.645 * 0.2, abs=0.01)


def test_a_likelihood_that_never_falls_leaves_its_end_open():
    result = profiled(lambda place: -place, np.linspace(0, 5, 9))
    assert (result.value, result.low) == (0, 0)
    assert result.high == pytest.approx(1.3528, abs=0.01)


def test_a_deviation_is_in_its_interval_nine_times_of_ten():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        result = deviation(2.5 * rng.standard_normal(30))
        hits += result.low <= 2.5 <= result.high
    assert 255 <= hits <= 285


def test_sensors_that_are_alike_make_each_other_surer():
    rng = np.random.default_rng(1)
    results = [deviation(3 * rng.standard_normal(200)) for _ in range(9)]
    mean, one = together(results)
    assert mean.low < 3 < mean.high
    assert mean.high - mean.low < 0.5 * (results[0].high - results[0].low)
    assert one.high - one.low < 1.6 * (results[0].high - results[0].low)


def test_sensors_that_differ_widen_the_range_to_hold_them():
    _, one = together([IntervalEstimate(value, 0.97 * value, 1.03 * value) for value in (1.0, 1.5, 2.0)])
    assert one.low < 1.05
    assert one.high > 1.95

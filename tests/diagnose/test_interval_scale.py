"""Intervals of rows are widened by the errors that were measured in cells with known truth."""

import numpy as np
import pytest

from twinloop.diagnose.interval_scale import UNSCALED, error_of, interval_scale, scale_of
from twinloop.randomize.parameter import GAPS

ANY = (0.0, 1000.0)
POSITIVE = (0.01, 100.0)


def measured(errors: dict[str, list[float]]) -> list[dict]:
    return [{"gap": gap, "error": error} for gap, values in errors.items() for error in values]


def test_an_error_is_relative_to_the_width_on_the_side_of_the_truth():
    assert error_of(40.0, (30.0, 60.0), 50.0, ANY) == pytest.approx(0.5)
    assert error_of(40.0, (30.0, 60.0), 20.0, ANY) == pytest.approx(2.0)
    assert error_of(1.0, (0.5, 2.0), 4.0, POSITIVE) == pytest.approx(2.0)  # by ratios


@pytest.mark.parametrize(("bounds", "interval"), [(ANY, (30.0, 60.0)), (POSITIVE, (30.0, 60.0))], ids=["any", "ratio"])
@pytest.mark.parametrize("true", [24.0, 35.0, 75.0])
def test_an_interval_widened_by_the_error_just_reaches_the_truth(bounds, interval, true: float):
    error = error_of(40.0, interval, true, bounds)
    scale = scale_of(measured({"latency": [error] * 40}))
    low, high = scale.widened("latency", 40.0, interval, bounds)
    assert low - 1e-9 <= true <= high + 1e-9
    assert low <= interval[0]
    assert high >= interval[1]
    if error > 1:
        assert min(abs(true - low), abs(true - high)) < 1e-9


def test_widened_intervals_cover_nine_of_ten_new_errors():
    rng = np.random.default_rng(0)
    known, new = np.abs(1.3 * rng.standard_normal((2, 4000)))
    factor = scale_of(measured({"contact": known.tolist()})).factors["contact"]
    assert np.mean(new <= factor) == pytest.approx(0.9, abs=0.02)


def test_a_gap_with_few_rows_takes_part_of_its_scale_from_the_others():
    scale = scale_of(measured({"contact": [0.5] * 40, "latency": [4.0] * 3}))
    assert scale.factors["contact"] == 1.0
    assert 1.0 < scale.factors["latency"] <= 4.0
    assert scale.factors["human"] < scale.factors["latency"]


def test_rows_of_a_gap_with_small_errors_do_not_widen_its_intervals():
    others = [0.1] * 30 + [1.5] * 4 + [4.0]
    without = scale_of(measured({"latency": others})).factors["visual"]
    few = scale_of(measured({"latency": others, "visual": [0.1, 0.2]})).factors["visual"]
    assert few <= without


def test_intervals_stay_within_bounds_and_no_scale_changes_nothing():
    scale = scale_of(measured({"contact": [9.0] * 20}))
    assert scale.widened("contact", 0.1, (0.05, 0.9), (0.0, 1.0)) == (0.0, 1.0)
    assert UNSCALED.widened("contact", 40.0, (30.0, 60.0), POSITIVE) == pytest.approx((30.0, 60.0))


def test_the_shipped_scale_has_every_gap():
    factors = interval_scale().factors
    assert set(factors) == set(GAPS)
    assert all(1.0 <= factor <= 10.0 for factor in factors.values())

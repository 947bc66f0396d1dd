"""The rate of a clock is estimated despite faulty time stamps."""

import numpy as np
import pytest

from twinloop.signals.clock import estimate_clock, nominal_rate, spread_stamps


def late_rows(rng: np.random.Generator, rows: int = 2000) -> np.ndarray:
    """Stamps in whole milliseconds: most steps are 10 ms, some rows are late; mean 10.6 ms."""
    return np.cumsum(rng.choice([10, 11, 12], rows, p=[0.6, 0.2, 0.2])) / 1000


def test_even_stamps_have_their_rate():
    clock = estimate_clock(np.arange(500) / 250)
    assert clock.rate_hz == pytest.approx(250)
    assert clock.typical_hz == pytest.approx(250)
    assert (clock.repeated, clock.backward, clock.gaps) == (0, 0, ())


def test_a_clock_in_milliseconds_agrees_with_its_mean_and_with_its_typical_rate():
    time_s = late_rows(np.random.default_rng(0))
    clock = estimate_clock(time_s)
    assert clock.rate_hz == pytest.approx(1 / np.diff(time_s).mean(), rel=0.002)
    assert clock.typical_hz == pytest.approx(100, rel=1e-6)
    assert clock.nearest_hz(94.34) == pytest.approx(94.34, rel=0.005)
    assert clock.nearest_hz(100.0) == pytest.approx(100.0, rel=1e-6)
    assert clock.nearest_hz(50.0) == clock.rate_hz
    assert clock.nearest_hz(120.0) == clock.typical_hz


def test_lost_rows_and_gaps_do_not_change_the_rate():
    rng = np.random.default_rng(1)
    kept = np.flatnonzero(rng.random(5000) > 0.05)
    kept = kept[(kept < 2000) | (kept > 2600)]
    clock = estimate_clock(kept / 100)
    assert clock.rate_hz == pytest.approx(100, rel=0.001)
    assert clock.gap_s == pytest.approx(6, abs=0.3)


@pytest.mark.parametrize("period_s", [0.002, 0.0013, 0.0005])
def test_repeated_stamps_of_a_coarse_clock_are_spread(period_s: float):
    true_s = np.arange(4000) * period_s
    coarse = np.floor(true_s / 0.01 + 1e-9) * 0.01
    clock = estimate_clock(coarse)
    assert clock.repeated > 1000
    assert clock.rate_hz == pytest.approx(1 / period_s, rel=0.02)
    spread = spread_stamps(coarse)
    assert (np.diff(spread) > 0).all()
    assert np.abs(spread - true_s).max() < 0.011


def test_one_repeated_stamp_changes_nothing_else():
    stamps = np.arange(100) / 50
    stamps[40] = stamps[39]
    spread = spread_stamps(stamps)
    assert (np.diff(spread) > 0).all()
    assert np.array_equal(np.delete(spread, 40), np.delete(stamps, 40))
    assert estimate_clock(stamps).rate_hz == pytest.approx(50, rel=0.01)


def test_a_gap_after_a_repeated_stamp_stays_a_gap():
    stamps = np.r_[np.arange(50), 49, 50 + np.arange(100, 150)] / 100
    clock = estimate_clock(stamps)
    assert clock.repeated == 1
    assert len(clock.gaps) == 1
    assert clock.gap_s == pytest.approx(1.0, abs=0.03)


def test_stamps_that_run_backwards_are_counted():
    stamps = np.arange(100) / 100
    stamps[50] = 0.1
    assert estimate_clock(stamps).backward == 1
    assert estimate_clock(np.full(5, np.nan)).backward == 4


def test_too_few_rows_have_no_rate():
    assert np.isnan(estimate_clock(np.zeros(1)).rate_hz)
    assert np.isnan(estimate_clock(np.empty(0)).rate_hz)


@pytest.mark.parametrize(("measured", "nominal"), [(99.98, 100.0), (94.34, 94.34), (29.97, 30.0), (0.2, 0.2)])
def test_a_measured_rate_is_rounded_where_it_is_nearly_whole(measured: float, nominal: float):
    assert nominal_rate(measured) == nominal

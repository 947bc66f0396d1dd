"""One estimator of delay: whole and fractional rows, leads, gains, gaps."""

import numpy as np
import pytest

from twinloop.signals import delay as estimator
from twinloop.signals.delay import estimate_delay, fit_line


def smooth(rows: np.ndarray) -> np.ndarray:
    return np.sin(rows / 9) + 0.5 * np.sin(rows / 23 + 1)


ROWS = np.arange(400.0)


@pytest.mark.parametrize("delay", [0.0, 1.0, 3.4, 7.75, 12.0])
@pytest.mark.parametrize("fit_gain", [True, False])
def test_a_delay_is_found_between_rows(delay: float, fit_gain: bool):
    estimate = estimate_delay([(smooth(ROWS), smooth(ROWS - delay) + 0.3)], shifts=range(-2, 20), fit_gain=fit_gain)
    assert estimate is not None
    assert estimate.rows == pytest.approx(delay, abs=0.05)


def test_a_follower_that_leads_has_a_negative_delay():
    estimate = estimate_delay([(smooth(ROWS), smooth(ROWS + 4))], shifts=range(-10, 11), fit_gain=True)
    assert estimate is not None
    assert estimate.rows == pytest.approx(-4, abs=0.05)


@pytest.mark.parametrize("fit_gain", [True, False])
def test_delays_beyond_the_end_of_a_short_recording_are_not_considered(fit_gain: bool):
    rows = ROWS[:60]
    estimate = estimate_delay([(smooth(rows), smooth(rows - 4))], shifts=range(-100, 101), fit_gain=fit_gain)
    assert estimate is not None
    assert estimate.rows == pytest.approx(4, abs=0.05)
    assert estimate_delay([(smooth(rows), smooth(rows))], shifts=range(80, 101), fit_gain=fit_gain) is None


@pytest.mark.parametrize("gain", [0.3, 2.0, -1.0])
def test_a_gain_is_fitted_with_the_delay(gain: float):
    estimate = estimate_delay([(smooth(ROWS), gain * smooth(ROWS - 5) + 1)], shifts=range(12), fit_gain=True)
    assert estimate is not None
    assert estimate.rows == pytest.approx(5, abs=0.05)
    assert estimate.gain == pytest.approx(gain, rel=0.01)
    assert estimate.correlation == pytest.approx(np.sign(gain), abs=0.01)


def test_columns_and_episodes_share_one_delay():
    pairs = []
    for start in (0.0, 500.0):
        rows = ROWS + start
        pairs.append(
            (np.stack([smooth(rows), smooth(2 * rows)], 1), np.stack([smooth(rows - 3), smooth(2 * rows - 6)], 1))
        )
    estimate = estimate_delay(pairs, shifts=range(10), fit_gain=False)
    assert estimate is not None
    assert estimate.rows == pytest.approx(3, abs=0.05)
    assert estimate.rms < 0.01


def test_rows_without_a_number_do_not_count():
    follower = smooth(ROWS - 6)
    follower[100:180] = np.nan
    for fit_gain in (True, False):
        estimate = estimate_delay([(smooth(ROWS), follower)], shifts=range(15), fit_gain=fit_gain)
        assert estimate is not None
        assert estimate.rows == pytest.approx(6, abs=0.05)


def test_without_data_there_is_no_estimate():
    assert estimate_delay([], shifts=range(5), fit_gain=True) is None
    assert estimate_delay([(np.ones(50), np.ones(50))], shifts=range(5), fit_gain=True) is None
    assert estimate_delay([(np.ones(2), np.ones(2))], shifts=range(5), fit_gain=False) is None


def test_a_line_is_fitted_where_both_are_known():
    x = np.array([0.0, 1, 2, np.nan, 4])
    slope, correlation, intercept = fit_line(x, 2 * x + 1)
    assert (slope, correlation, intercept) == (pytest.approx(2), pytest.approx(1), pytest.approx(1))


def _signals(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A reference and a follower of one recording."""
    rows = int(rng.integers(20, 400))
    late = int(rng.integers(-3, 8))
    walk = np.cumsum(rng.standard_normal(rows + 20))
    reference, copy = walk[10 : 10 + rows], walk[10 - late : 10 - late + rows]
    follower = 0.1 * rng.standard_normal(rows) - 1.3 * copy
    time = np.arange(rows, dtype=float)
    return {
        "moving": (reference, follower),
        "exact copy": (reference, copy),
        "encoder": (reference, follower.round()),
        "large offset": (reference + 1e6, follower - 1e6),
        "resting at first": (np.where(time < rows * 0.97, 0.0, reference), np.where(time < rows * 0.97, 0.0, follower)),
        "resting": (np.zeros(rows), follower),
        "ramp": (time, 2.0 * time - late),
        "periodic": (np.sin(time), np.sin(time - late)),
        "unrelated": (reference, rng.standard_normal(rows)),
        "gaps": (reference, np.where(rng.random(rows) < 0.05, np.nan, follower)),
    }[kind]


@pytest.mark.parametrize("shifts", [range(12), range(-9, 10), range(-8, 40, 3)])
@pytest.mark.parametrize(
    "kind",
    [
        "moving", "exact copy", "encoder", "large offset", "resting at first", "resting", "ramp", "periodic",
        "unrelated", "gaps",
    ],
)  # fmt: skip
def test_the_scan_leaves_out_no_shift_that_matters(kind: str, shifts, rng: np.random.Generator, monkeypatch):
    pairs = [_signals(kind, rng) for _ in range(30)]
    scanned = [estimate_delay([pair], shifts=shifts, fit_gain=True) for pair in pairs]
    monkeypatch.setattr(estimator, "_promising", lambda _pairs, shifts: shifts)
    assert repr(scanned) == repr([estimate_delay([pair], shifts=shifts, fit_gain=True) for pair in pairs])


def test_few_shifts_are_left_after_the_scan(rng: np.random.Generator):
    pairs = [_signals("moving", rng) for _ in range(30)]
    tried = [estimator._promising([(one[:, None], other[:, None])], range(-9, 10)) for one, other in pairs]
    assert np.median([len(shifts) for shifts in tried]) <= 3


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 101])
def test_medians_of_columns_are_those_of_numpy(rows: int, rng: np.random.Generator):
    values = rng.normal(size=(rows, 4))
    np.testing.assert_array_equal(estimator._medians(values), np.median(values, axis=0))
    values[0, 1] = np.nan
    if rows > 1:
        np.testing.assert_array_equal(estimator._medians(values), np.nanmedian(values, axis=0))

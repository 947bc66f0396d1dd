"""Agreement of twin and reality: SIMPLER's measures, with intervals."""

import numpy as np
import pytest

from twinloop.gate.statistics.agreement import Counted, agreement, mean_maximum_rank_violation, pearson
from twinloop.gate.statistics.prediction import predict_real_rate, record


def counted(*rates: float, trials: int | None = None) -> list[Counted]:
    return [Counted(rate, trials) for rate in rates]


def test_rank_violation_by_hand():
    """The twin swaps the first two of three policies, which differ by 0.3; the third is ranked correctly."""
    real, sim = np.array([0.5, 0.8, 0.1]), np.array([0.9, 0.6, 0.2])
    assert mean_maximum_rank_violation(sim, real) == pytest.approx((0.3 + 0.3 + 0) / 3)


def test_rank_violation_with_ties_by_hand():
    """The twin has a tie between two policies that differ by 0.4, which is one violation."""
    real, sim = np.array([0.8, 0.4]), np.array([0.5, 0.5])
    assert mean_maximum_rank_violation(sim, real) == pytest.approx((0.4 + 0) / 2)
    assert mean_maximum_rank_violation(real, real) == 0


def test_pearson_equals_numpy_and_is_nan_without_spread():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 9))
    assert pearson(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert np.isnan(pearson(np.ones(4), x[:4]))


def test_intervals_are_wider_where_trials_were_few():
    sim, real = (0.9, 0.7, 0.5, 0.3, 0.1), (0.8, 0.75, 0.4, 0.35, 0.1)
    widths = []
    for trials in (None, 1000, 20):
        result = agreement(counted(*sim, trials=trials), counted(*real, trials=trials), seed=1)
        assert result.pearson is not None
        assert result.mmrv is not None
        assert result.pearson_low <= result.pearson <= result.pearson_high
        assert result.mmrv_low <= result.mmrv <= result.mmrv_high
        widths.append((result.pearson_high - result.pearson_low, result.mmrv_high - result.mmrv_low))
    assert widths[2][0] > widths[1][0] > 0
    assert widths[2][1] > widths[1][1]
    assert widths[2][1] > widths[0][1]


def test_the_interval_covers_the_correlation():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(100):
        truth = rng.uniform(0.05, 0.95, 12)
        twin = np.clip(0.6 * truth + 0.2 + rng.normal(0, 0.1, 12), 0, 1)
        real = rng.binomial(40, truth) / 40
        result = agreement(counted(*twin, trials=500), counted(*real, trials=40), seed=seed, resamples=500)
        inside += result.pearson_low <= 0.865 <= result.pearson_high  # of many such policies
    assert inside >= 85


def test_few_policies_give_no_figure():
    one, two = agreement(counted(0.5), counted(0.4), seed=0), agreement(counted(0.5, 0.6), counted(0.4, 0.7), seed=0)
    assert (one.pearson, one.mmrv) == (None, None)
    assert one.gap == pytest.approx(0.1)
    for result in (one, two):
        assert (result.pearson_low, result.pearson_high, result.mmrv_low, result.mmrv_high) == (-1, 1, 0, 1)
    assert agreement([], [], seed=0).policies == 0
    flat = agreement(counted(1, 1, 1, 1, 1), counted(0.9, 0.8, 1, 0.7, 0.6), seed=0)
    assert flat.pearson is None
    assert (flat.pearson_low, flat.pearson_high) == (-1, 1)


def test_the_same_seed_is_the_same_interval():
    sim, real = counted(0.9, 0.7, 0.5, 0.3, trials=20), counted(0.8, 0.75, 0.4, 0.35, trials=20)
    assert agreement(sim, real, seed=5) == agreement(sim, real, seed=5)
    assert agreement(sim, real, seed=5) != agreement(sim, real, seed=6)


def test_bands_have_their_nominal_coverage():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(400):
        twin = rng.uniform(0.2, 0.9, 9)
        real = np.clip(0.1 + 0.8 * twin + rng.normal(0, 0.06, 9), 0, 1)
        held += predict_real_rate(float(twin[-1]), counted(*twin[:-1]), counted(*real[:-1])).holds(float(real[-1]))
    assert 0.86 < held / 400 < 0.97


def test_a_band_needs_policies_and_is_wide_beyond_them():
    assert predict_real_rate(0.5, counted(0.2, 0.4), counted(0.2, 0.4)).low == 0
    sim, real = counted(0.1, 0.2, 0.3, 0.4), counted(0.12, 0.21, 0.35, 0.41)
    near, far = predict_real_rate(0.25, sim, real), predict_real_rate(0.9, sim, real)
    assert not near.beyond
    assert far.beyond
    assert near.high - near.low < 0.3
    assert far.low < 0.5
    assert far.high == 1
    assert predict_real_rate(0.5, counted(0.5, 0.5, 0.5), counted(0.4, 0.5, 0.6)).estimate == pytest.approx(0.5)


def test_failing_bands_are_detected_with_few_false_alarms():
    assert record([False] * 3, confidence=0.9).failed(0.05)
    assert not record([True] * 50 + [False] * 5, confidence=0.9).failed(0.05)
    assert not record([], confidence=0.9).failed(0.05)
    rng = np.random.default_rng(7)
    missed = np.cumsum(rng.random((1000, 60)) > 0.9, axis=1)
    looks = np.stack(np.broadcast_arrays(np.arange(1, 61), missed), -1).reshape(-1, 2)
    kinds, which = np.unique(looks, axis=0, return_inverse=True)
    failed = [record([True] * (n - bad) + [False] * bad, confidence=0.9).failed(0.05) for n, bad in kinds.tolist()]
    accused = np.array(failed)[which.reshape(missed.shape)].any(axis=1).mean()
    assert 0 < accused <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.2])
def test_impossible_rates_are_refused(wrong: float):
    with pytest.raises(ValueError, match="from 0 to 1"):
        Counted(wrong)
    with pytest.raises(ValueError, match="at least one"):
        Counted(0.5, 0)
    with pytest.raises(ValueError, match="pairs were expected"):
        agreement(counted(0.5), [], seed=0)

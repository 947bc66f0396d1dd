"""A band holds nine of ten held-out measurements, in slow logs and in fast ones."""

import numpy as np
import pytest

from twinloop.calibrate.band import HeldOutError, PredictionBand, fit_band


def errors(*, gaps: list[float], seed: int, constant: float = 0.2, share: float = 0.3) -> list[HeldOutError]:
    """Errors whose spread grows with the tracking gap."""
    rng = np.random.default_rng(seed)
    made = []
    for size in gaps:
        gap = size * np.abs(np.sin(np.arange(500) / 20))[:, None]
        off = np.hypot(constant, share * gap) * rng.standard_normal(gap.shape)
        made.append(HeldOutError(off, 1.0, gap, np.zeros_like(gap), len(made)))
    return made


def covered(band: PredictionBand, held_out: list[HeldOutError]) -> float:
    inside = [np.abs(error.off) <= band.half_width(error.swing, error.gap, error.drawn) for error in held_out]
    return float(np.concatenate(inside).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_a_band_holds_nine_of_ten_in_logs_that_are_faster_or_slower(seed: int):
    band = fit_band(errors(gaps=[0.5, 1.0, 1.5, 2.0, 1.0, 0.7], seed=seed))
    assert 0.86 < covered(band, errors(gaps=[4.0] * 4, seed=seed + 10)) < 0.95
    assert 0.86 < covered(band, errors(gaps=[0.0] * 4, seed=seed + 20)) < 0.95


def test_a_constant_error_needs_no_gap():
    band = fit_band(errors(gaps=[1.0] * 6, seed=3, share=0.0))
    assert band.gap < 0.1 * band.left


def test_logs_that_differ_widen_the_band():
    alike = errors(gaps=[0.0] * 8, seed=4)
    mixed = [
        HeldOutError(error.off * (0.3 if k % 2 else 1.7), 1.0, error.gap, error.drawn, k)
        for k, error in enumerate(alike)
    ]
    off = np.concatenate([np.abs(error.off) for error in mixed])
    assert fit_band(mixed).left > 1.03 * float(np.quantile(off, 0.9))
    assert fit_band(alike).left < 1.1 * float(np.quantile(np.concatenate([np.abs(error.off) for error in alike]), 0.9))

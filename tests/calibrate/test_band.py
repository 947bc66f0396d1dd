"""A band holds nine of ten held-out measurements: in slow logs and fast ones, with soft servos and stiff ones."""

import numpy as np
import pytest

from twinloop.calibrate.band import HeldOutError, PredictionBand, fit_band


def errors(
    *, sizes: list[float], seed: int, constant: float = 0.2, effort: float = 0.0, drawn: float = 0.0
) -> list[HeldOutError]:
    """Errors whose spread grows with the servo's effort and with the spread of the draws, each with a weight."""
    rng = np.random.default_rng(seed)
    made = []
    for size in sizes:
        time = np.arange(500)
        efforts, spreads = (size * np.abs(np.sin(time / period))[:, None] for period in (20, 47))
        scale = np.sqrt(constant**2 + (effort * efforts) ** 2 + (drawn * spreads) ** 2)
        made.append(HeldOutError(scale * rng.standard_normal(efforts.shape), 1.0, efforts, spreads))
    return made


def covered(band: PredictionBand, held_out: list[HeldOutError]) -> float:
    inside = [np.abs(error.off) <= band.half_width(error.swing, error.effort, error.drawn) for error in held_out]
    return float(np.concatenate(inside).mean())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("part", ["effort", "drawn"])
def test_a_band_holds_nine_of_ten_in_logs_that_are_unlike_those_of_the_fit(part: str, seed: int):
    band = fit_band(errors(sizes=[0.5, 1.0, 1.5, 2.0, 1.0, 0.7], seed=seed, **{part: 0.3}))
    assert 0.85 < covered(band, errors(sizes=[4.0] * 4, seed=seed + 10, **{part: 0.3})) < 0.95
    assert 0.85 < covered(band, errors(sizes=[0.0] * 4, seed=seed + 20, **{part: 0.3})) < 0.95


def test_a_constant_error_needs_no_other_part():
    band = fit_band(errors(sizes=[1.0] * 6, seed=3))
    assert max(band.effort, band.drawn) < 0.15 * band.left


def test_a_posterior_that_is_too_sure_does_not_make_the_band_narrow():
    sure = errors(sizes=[1.0] * 6, seed=5, constant=0.01, drawn=3.0)
    band = fit_band(sure)
    assert band.drawn > 3
    assert 0.85 < covered(band, errors(sizes=[1.0] * 4, seed=6, constant=0.01, drawn=3.0)) < 0.95


def test_logs_that_differ_widen_the_band():
    alike = errors(sizes=[0.0] * 8, seed=4)
    mixed = [
        HeldOutError(error.off * (0.3 if k % 2 else 1.7), 1.0, error.effort, error.drawn)
        for k, error in enumerate(alike)
    ]
    off = np.concatenate([np.abs(error.off) for error in mixed])
    assert fit_band(mixed).left > 1.03 * float(np.quantile(off, 0.9))
    assert fit_band(alike).left < 1.1 * float(np.quantile(np.concatenate([np.abs(error.off) for error in alike]), 0.9))


def test_without_errors_only_the_draws_count():
    nothing = [HeldOutError(np.zeros((5, 1)), 1.0, *(np.ones((5, 1)) for _ in range(2)))]
    assert fit_band(nothing) == PredictionBand(0.0, 0.0, 1.0)

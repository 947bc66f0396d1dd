"""Step and noise of an encoder are estimated from readings of a joint at rest."""

import numpy as np
import pytest

from twinloop.calibrate.sensors.encoder import encoder_floor

STEP = 2 * np.pi / 4096


def read(noise: float, rng: np.random.Generator, *, step: float = STEP, count: int = 1500) -> np.ndarray:
    place = rng.uniform(-1, 1) + noise * rng.standard_normal(count)
    return (np.round(place / step) * step if step else place).astype(np.float32).astype(float)


def test_step_and_noise_are_found_over_twenty_truths():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(20):
        noise = STEP * 10 ** rng.uniform(-0.6, 0.5)
        result = encoder_floor(read(noise, rng))
        assert result.noise is not None
        assert result.step is not None
        assert result.step.value == pytest.approx(STEP, rel=1e-3)
        hits += result.noise.low <= noise <= result.noise.high
    assert hits >= 16


def test_no_step_where_readings_are_fine():
    rng = np.random.default_rng(1)
    result = encoder_floor(read(1e-3, rng, step=0.0))
    assert result.step is not None
    assert result.noise is not None
    assert result.step.value == 0
    assert result.noise.low < 1e-3 < result.noise.high


def test_constant_readings_give_no_estimate():
    result = encoder_floor(np.full(500, 0.3))
    assert result.step is None
    assert "all readings are equal" in result.why_unknown

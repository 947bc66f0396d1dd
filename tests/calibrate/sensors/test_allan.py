"""Noise, flicker and walk of an IMU at rest."""

import numpy as np
import pytest

from twinloop.calibrate.sensors.allan import imu_noise


def made(white: float, walk: float, rng: np.random.Generator, *, rate_hz: float = 50, count: int = 6000) -> np.ndarray:
    """As `observe/sensor_errors.py` makes it: white a sample, walk a root second."""
    return white * rng.standard_normal(count) + walk / np.sqrt(rate_hz) * np.cumsum(rng.standard_normal(count))


def test_noise_and_walk_are_found_over_twenty_truths():
    rng = np.random.default_rng(2)
    whites = walks = flickers = 0
    for _ in range(20):
        white, walk = 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-1.5, 0)
        result = imu_noise(made(white, white * walk, rng), 50)
        whites += result.white.low <= white <= result.white.high
        walks += result.walk.low <= white * walk <= result.walk.high
        flickers += result.instability is not None
        assert result.random_walk.value == pytest.approx(result.white.value / np.sqrt(50))
    # Of 40 intervals of 90 % that many hold, but for one run in a hundred.
    assert whites + walks >= 31
    assert flickers <= 2


def test_no_walk_may_be_none():
    result = imu_noise(made(0.1, 0, np.random.default_rng(3)), 50)
    assert result.walk.low == 0
    assert result.walk.high < 0.05


def test_flicker_noise_is_detected():
    """Flicker as a sum of relaxations, each ten times slower than the next: 1/f over four decades."""
    rng = np.random.default_rng(4)
    count, total = 40_000, np.zeros(40_000)
    for time in (3, 30, 300, 3000):
        keep = np.exp(-1 / time)
        steps, state = np.sqrt(1 - keep**2) * rng.standard_normal(count), 0.0
        for place in range(count):
            state = keep * state + steps[place]
            total[place] += state
    result = imu_noise(0.05 * rng.standard_normal(count) + 0.05 * total, 50)
    assert result.instability is not None
    assert result.instability.low > 0

"""Laws of the estimators."""

import numpy as np
import pytest

from twinloop.signals import appearance, distance, motion, noise_floor, tracking


def episodes(shift: float, *, seed: int, count: int = 12) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(shift + rng.normal(0, 0.1), 1.0, 300) for _ in range(count)]


def test_a_shift_is_the_wasserstein_distance():
    result = distance(episodes(0.0, seed=1), episodes(2.0, seed=2), seed=0)
    assert result.wasserstein == pytest.approx(2.0, abs=0.15)
    assert result.interval[0] < 2.0 < result.interval[1]
    assert result.p_value < 0.02


def test_equal_signals_give_no_finding():
    result = distance(episodes(0.0, seed=1), episodes(0.0, seed=2), seed=0)
    assert result.p_value > 0.05
    assert distance(episodes(0.0, seed=1), episodes(0.0, seed=1), seed=0).wasserstein == 0


def test_distance_is_symmetric():
    one, other = episodes(0.0, seed=1), episodes(0.7, seed=2)
    assert distance(one, other, seed=0).wasserstein == pytest.approx(distance(other, one, seed=0).wasserstein)


def test_rows_of_one_episode_prove_nothing():
    result = distance(episodes(0.0, seed=1, count=1), episodes(0.3, seed=2, count=1), seed=0)
    assert np.isnan(result.p_value)


def test_the_noise_of_a_resting_sensor_is_measured_despite_motion():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(300), np.linspace(0, 5, 200), np.full(300, 5.0)]) + rng.normal(0, 0.02, 800)
    result = noise_floor([values], rate_hz=50)
    assert result.std == pytest.approx(0.02, rel=0.15)
    assert result.still_s >= 8


def test_a_channel_that_never_rests_gives_no_noise_estimate():
    t = np.arange(800) / 50
    assert noise_floor([np.sin(2 * np.pi * 0.7 * t)], rate_hz=50).unknown


def test_frequencies_of_a_motion():
    t = np.arange(1000) / 100
    slow, fast = (motion([np.sin(2 * np.pi * hz * t)], rate_hz=100) for hz in (0.8, 6.0))
    assert slow.band_hz < 2 < 5 < fast.band_hz < 8
    assert sum(slow.power) == pytest.approx(1)
    assert fast.speed_max == pytest.approx(2 * np.pi * 6, rel=0.02)


def test_tracking_error():
    t = np.linspace(0, 6, 300)
    result = tracking([(np.sin(t), np.sin(t) - 0.1)])
    assert (result.rms, result.bias) == (pytest.approx(0.1), pytest.approx(0.1))


def test_a_darker_picture_is_darker():
    rng = np.random.default_rng(0)
    picture = rng.integers(60, 200, (40, 60, 3), dtype=np.uint8)
    light, dark = appearance([picture]), appearance([picture // 2])
    assert light is not None
    assert dark is not None
    assert dark.brightness == pytest.approx(light.brightness / 2, rel=0.02)
    assert appearance([]) is None

"""Features of camera frames: each number depends on its own row, and noise is distinguished from motion."""

import numpy as np
import pytest

from twinloop.calibrate.visual.distance import distance
from twinloop.calibrate.visual.features import NAMES, features
from twinloop.observe.image import read_out, saturated
from twinloop.observe.lens import defocused
from twinloop.observe.noise import NormalStream

HEIGHT, WIDTH, FRAMES = 96, 128, 4


@pytest.fixture(scope="module")
def light() -> np.ndarray:
    """(h, w, 3) a scene of coloured squares, in light."""
    rng = np.random.default_rng(0)
    squares = rng.uniform(0.02, 0.8, (HEIGHT // 16, WIDTH // 16, 3)).astype(np.float32)
    return squares.repeat(16, axis=0).repeat(16, axis=1)


def seen(light: np.ndarray, *, shot: float = 0.0, read: float = 0.0, colour: float = 1.0, seed: int = 1) -> np.ndarray:
    noise = NormalStream(np.random.default_rng(seed))
    frames = [saturated(read_out(light.copy(), shot, read, noise), colour) for _ in range(FRAMES)]
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8)


def feature_values(rgb: np.ndarray) -> dict[str, float]:
    return dict(zip(NAMES, features(rgb), strict=True))


def test_twice_the_light_is_one_more(light: np.ndarray):
    assert feature_values(seen(light))["light"] - feature_values(seen(0.5 * light))["light"] == pytest.approx(
        1, abs=0.03
    )


def test_a_red_cast_is_red(light: np.ndarray):
    before, after = feature_values(seen(light)), feature_values(seen(light * np.array([1.2, 1, 1], np.float32)))
    assert after["red"] - before["red"] == pytest.approx(np.log(1.2), abs=0.05)
    assert after["blue"] == pytest.approx(before["blue"], abs=0.03)


def test_less_colour_is_less(light: np.ndarray):
    assert feature_values(seen(light, colour=0.6))["colour"] - feature_values(seen(light))["colour"] == pytest.approx(
        np.log(0.6), abs=0.1
    )


@pytest.mark.parametrize(("shot", "read"), [(0.0, 2.0), (0.02, 0.0), (0.015, 1.5)])
def test_noise_is_measured_correctly(light: np.ndarray, shot: float, read: float):
    """Together they are known well; which of the two it is, less."""
    result = feature_values(seen(light, shot=shot, read=read))
    middle = (255 / 2.2) ** 2  # of a photon noise of 1, in the stored levels, almost the same at any brightness
    assert result["dark"] + middle * result["bright"] == pytest.approx(read**2 + middle * shot**2, rel=0.1)


def test_motion_does_not_count_as_noise(light: np.ndarray):
    frames = seen(light, read=2.0)
    frames[1, 20:50, 20:60], frames[3, 30:60, 40:80] = 250, 10
    still, moving = feature_values(seen(light, read=2.0)), feature_values(frames)
    total = [feature_row["dark"] + (255 / 2.2) ** 2 * feature_row["bright"] for feature_row in (still, moving)]
    assert total[1] == pytest.approx(total[0], rel=0.15)
    everything = np.stack([np.roll(light, 9 * k, axis=1) for k in range(FRAMES)])
    assert np.isnan(feature_values(np.clip(255 * everything, 0, 255).astype(np.uint8))["dark"])


def test_blur_is_seen_at_edges(light: np.ndarray):
    edges = [feature_values(seen(light if blur == 0 else defocused(light, blur)))["edge"] for blur in (0, 0.5, 1, 1.6)]
    assert edges == sorted(edges, reverse=True)
    assert edges[0] - edges[-1] > 0.8


def test_a_bell_narrower_than_a_pixel_keeps_all_light(light: np.ndarray):
    for spread in (0.05, 0.4, 2.0):
        assert defocused(light, spread).mean() == pytest.approx(light.mean(), rel=1e-3)
    np.testing.assert_allclose(defocused(light, 0.02), light, atol=1e-5)


def test_the_distance_is_none_to_itself_and_grows(light: np.ndarray):
    heaps = [list(seen(gain * light, read=1.0)) for gain in (1.0, 1.0, 0.8, 0.5)]
    apart = [distance(heaps[0], heap, rng=np.random.default_rng(2)) for heap in heaps[1:]]
    assert apart[0] < 2 < apart[1] < apart[2]

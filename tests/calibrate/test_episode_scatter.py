"""Scatter between episodes: what varies on the robot is found, and noise of the traits is not taken for it."""

import numpy as np
import pytest

from twinloop.calibrate.episode_scatter import EpisodeTraits, episode_scatter

SLOPES = np.array([[1.0, 0.0, 0.0], [0.8, 0.2, 0.0], [0.0, 0.5, 0.0], [0.3, 0.3, 0.0]])
"""Four traits of two columns; no trait shows the third one."""
NOISE = np.array([0.04, 0.04, 0.01, 0.09])


def episodes(scatter: tuple[float, float, float], *, seed: int, count: int = 30) -> EpisodeTraits:
    rng = np.random.default_rng(seed)
    sizes = np.array([2.0, 1.0, 0.5]) + np.array(scatter) * rng.standard_normal((count, 3))
    traits = sizes @ SLOPES.T + np.sqrt(NOISE) * rng.standard_normal((count, len(NOISE)))
    return EpisodeTraits(traits, SLOPES, NOISE)


@pytest.mark.parametrize("scatter", [(1.0, 0.0, 0.0), (0.0, 1.5, 0.0), (0.8, 1.2, 0.0)])
def test_scatter_is_found(scatter: tuple[float, float, float]):
    mean_scatter = np.mean([episode_scatter([episodes(scatter, seed=seed)], 3) for seed in range(10)], axis=0)
    assert mean_scatter == pytest.approx(scatter, abs=0.2)


def test_noise_is_no_scatter():
    scatters = [episode_scatter([episodes((0.0, 0.0, 0.0), seed=seed)], 3) for seed in range(20)]
    assert np.max(scatters) < 0.35
    assert np.mean(scatters) < 0.08


def test_a_column_that_no_trait_shows_has_none():
    assert episode_scatter([episodes((1.0, 1.0, 3.0), seed=1)], 3)[2] == 0.0
    assert episode_scatter([], 3).tolist() == [0.0, 0.0, 0.0]


def test_unknown_traits_are_left_out():
    known = episodes((1.0, 0.0, 0.0), seed=2, count=60)
    traits = known.traits.copy()
    traits[::2, 0] = np.nan
    assert episode_scatter([EpisodeTraits(traits, SLOPES, NOISE)], 3)[0] == pytest.approx(1.0, abs=0.25)


def test_two_sources_count_as_more_episodes():
    parts = [episodes((0.7, 0.0, 0.0), seed=seed, count=15) for seed in (3, 4)]
    assert episode_scatter(parts, 3)[0] == pytest.approx(0.7, abs=0.3)


def test_a_single_outlier_is_no_scatter():
    usual = episodes((0.0, 0.0, 0.0), seed=5)
    traits = usual.traits.copy()
    traits[3, 2] += 50.0
    assert episode_scatter([EpisodeTraits(traits, SLOPES, NOISE)], 3)[1] < 0.5

from itertools import pairwise

import numpy as np
import pytest

from twinloop.dataset.stats import (
    QUANTILES,
    SAMPLE_FRAMES,
    STATS,
    Moments,
    episode_stats,
    ramp_stats,
    sampled_rows,
)


def reference(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float64)
    basic = [values.min(0), values.max(0), values.mean(0), values.std(0)]
    return np.stack(basic + [np.quantile(values, share, axis=0) for share in QUANTILES.values()])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_episode_gets_its_own_statistics(dtype):
    rng = np.random.default_rng(0)
    lengths = np.array([1, 2, 150, 33, 7])
    values = (rng.normal(size=(lengths.sum(), 4)) + 1000).astype(dtype)
    result = episode_stats(values, lengths)
    assert result.shape == (5, len(STATS), 4)
    for stats, episode in zip(result, np.split(values, np.cumsum(lengths)[:-1]), strict=True):
        np.testing.assert_allclose(stats, reference(episode), rtol=1e-6, atol=1e-9)


def test_non_finite_values_are_visible_in_the_statistics():
    for bad in (np.nan, np.inf, -np.inf):
        values = np.ones((6, 2), np.float32)
        values[1, 1] = bad
        finite = np.isfinite(episode_stats(values, np.array([2, 4]))).all(axis=(1, 2))
        assert finite.tolist() == [False, True]


def test_a_ramp_has_the_statistics_of_its_values():
    first, lengths = np.array([3.0, 20.0]), np.array([5, 1])
    values = np.concatenate([start + 0.5 * np.arange(n) for start, n in zip(first, lengths, strict=True)])
    np.testing.assert_allclose(ramp_stats(first, 0.5, lengths), episode_stats(values[:, None], lengths))


def test_combined_moments_equal_the_moments_of_all_data():
    rng = np.random.default_rng(1)
    lengths = np.array([10, 300, 1, 45])
    values = rng.normal(size=(lengths.sum(), 3)) * [1, 100, 1e-3] + [1e6, 0, -5]
    stats = episode_stats(values, lengths)
    moments = Moments()
    moments.add(stats[:1], lengths[:1])
    moments.add(stats[1:], lengths[1:])
    result = moments.finish(values)
    whole = dict(zip(STATS, reference(values), strict=True))
    assert result["count"] == [356]
    for name, expected in whole.items():
        np.testing.assert_allclose(result[name], expected, rtol=1e-9)


def test_the_sample_does_not_depend_on_where_shards_end():
    total = 10 * SAMPLE_FRAMES + 17
    whole = sampled_rows(0, total, total)
    cuts = [0, 1, 7, 12345, 12346, total // 2, total]
    parts = [sampled_rows(a, b, total) for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert len(np.unique(whole)) == len(whole)
    assert 0.9 * SAMPLE_FRAMES < len(whole) <= SAMPLE_FRAMES


def test_the_sample_meets_every_moment_of_an_episode():
    """Episodes as long as the stride: a sample at fixed steps would see one moment of each only."""
    length = 100
    total = length * SAMPLE_FRAMES
    moment = sampled_rows(0, total, total) % length
    assert np.bincount(moment, minlength=length).min() > 0.5 * SAMPLE_FRAMES / length


def test_a_small_dataset_is_its_own_sample():
    assert np.array_equal(sampled_rows(5, 20, 20), np.arange(5, 20))

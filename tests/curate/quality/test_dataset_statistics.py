"""Statistics of the other episodes of a dataset are those of NumPy, bitwise."""

import numpy as np
import pytest

from twinloop.curate.quality.dataset_statistics import DatasetStatistics, EpisodeStatistics

CHANNEL = "joint"


def statistics(spans: list[float]) -> DatasetStatistics:
    nothing = {name: {} for name in EpisodeStatistics.__dataclass_fields__ if name not in ("attempt", "rows", "span")}
    return DatasetStatistics.of(
        EpisodeStatistics(**{**nothing, "attempt": 3 * at, "rows": 100, "span": {CHANNEL: value}, "fingerprint": ""})
        for at, value in enumerate(spans)
    )


@pytest.mark.parametrize("episodes", [2, 3, 4, 7, 11, 30, 101])
def test_an_episode_is_compared_with_all_others(episodes: int, rng: np.random.Generator):
    for spans in (rng.normal(size=episodes), rng.integers(0, 3, episodes) * 0.1):
        dataset = statistics(spans.tolist())
        for attempt in range(-1, 3 * episodes):
            others = np.array([value for at, value in enumerate(spans) if 3 * at != attempt])
            np.testing.assert_array_equal(dataset.known("span", CHANNEL, attempt), others)
            assert dataset.typical("span", CHANNEL, attempt) == np.median(others)
            assert dataset.high_end("span", CHANNEL, attempt) == np.quantile(others, 0.9)


def test_a_single_episode_has_no_others():
    dataset = statistics([1.0])
    assert np.isnan(dataset.typical("span", CHANNEL, 0))
    assert dataset.high_end("span", CHANNEL, 0) == 0
    assert dataset.typical("span", CHANNEL, 1) == dataset.high_end("span", CHANNEL, 1) == 1
    assert np.isnan(dataset.typical("span", "another", 1))

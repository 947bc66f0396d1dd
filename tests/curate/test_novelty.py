"""Duplicates and novelty: copies are found, small changes are near-duplicates, odd episodes are the most novel."""

import numpy as np
import pytest

from twinloop.curate.novelty import describe_motion, novelty_of


def motions(count: int, *, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.cumsum(rng.normal(size=(int(rng.integers(40, 60)), 4)), axis=0) for _ in range(count)]


def test_copies_and_near_copies_are_distinguished():
    episodes = motions(60)
    noise = np.random.default_rng(1).normal(scale=0.01, size=episodes[5].shape)
    episodes += [episodes[3], episodes[5] + noise]
    novelty = novelty_of([describe_motion(frames) for frames in episodes])
    assert novelty.duplicates == ((3, 60),)
    assert novelty.near_duplicates == ((5, 61),)
    assert np.flatnonzero(novelty.redundant).tolist() == [60, 61]
    assert novelty.nearest[60] == 3


def test_an_odd_episode_is_the_most_novel():
    episodes = motions(60)
    episodes[17] = episodes[17] + 100
    novelty = novelty_of([describe_motion(frames) for frames in episodes])
    assert np.argmax(novelty.distance) == 17
    assert not novelty.duplicates


def test_the_description_does_not_depend_on_the_frame_rate():
    course = np.linspace(0, 1, 101)[:, None] * [1.0, -2.0]
    fine, coarse = describe_motion(course), describe_motion(course[::2])
    np.testing.assert_allclose(fine[:-1], coarse[:-1], atol=1e-9)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_episodes_have_no_neighbours(count: int):
    novelty = novelty_of(np.zeros((count, 5)))
    assert not novelty.duplicates
    assert len(novelty.distance) == count


def test_identical_episodes_are_all_duplicates():
    novelty = novelty_of(np.ones((3, 5)))
    assert len(novelty.duplicates) == 3

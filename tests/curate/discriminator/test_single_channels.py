"""Residuals of single channels: filled for all episodes or for some, they are the same, and stay in their episode."""

import numpy as np
import pytest

from twinloop.curate.discriminator.single_channels import SingleChannels, fit_ranges
from twinloop.curate.discriminator.trajectories import Trajectories, TrajectorySchema

LENGTHS = np.array([6, 4])
ELEMENTS = {"observation.state": ("joint1", "gripper"), "contact": ("left_finger", "support")}
STATE = np.array([[0, 1], [0, 1], [1, 1], [3, 1], [3, 1], [3, 1], [3, 5], [3, 5], [3, 6], [9, 6]], float)
FORCE = np.array([[0, 2], [0, 2], [0, 2], [4, 2], [4, 2], [4, 0], [4, 0], [4, 0], [4, 1], [4, 1]], float)


@pytest.fixture
def episodes() -> Trajectories:
    signals = {"observation.state": STATE, "contact": FORCE}
    return Trajectories(TrajectorySchema("nobody", 25.0, ELEMENTS), np.arange(2), LENGTHS, signals,
                        np.ones(2), ("pick",) * 2)  # fmt: skip


def _table(single: SingleChannels, episodes: Trajectories) -> np.ndarray:
    table = np.full((episodes.frames, single.width), np.nan)
    single.fill(table, slice(0, episodes.frames), episodes.starts)
    return table


def test_jumps_and_repeats_begin_again_with_each_episode(episodes):
    single = SingleChannels(episodes, fit_ranges(episodes))
    table = _table(single, episodes)
    np.testing.assert_array_equal(table[:, single.columns["jump:observation.state"]][:, 0],
                                  [0, 1, 1, -2, 0, 0, 0, 0, 6, -6])  # fmt: skip
    np.testing.assert_array_equal(table[:, single.columns["repeats:observation.state"]][:, 1],
                                  [0, 1, 2, 3, 4, 5, 0, 1, 0, 1])  # fmt: skip


def test_a_repeated_force_counts_only_where_there_is_one(episodes):
    single = SingleChannels(episodes, fit_ranges(episodes))
    repeats = _table(single, episodes)[:, single.columns["repeats:contact"]]
    np.testing.assert_array_equal(repeats[:, 0], [0, 0, 0, 0, 1, 2, 0, 1, 2, 3])
    assert "jump:contact" not in single.columns


def test_values_beyond_the_range_are_measured_in_spans(episodes):
    ranges = fit_ranges(episodes.take(np.array([0])))
    single = SingleChannels(episodes, ranges)
    beyond = _table(single, episodes)[:, single.columns["range:observation.state"]][:, 0]
    assert (beyond[:6] < 0.01).all()
    assert beyond[-1] == pytest.approx(2.0, abs=0.05)


def test_some_episodes_are_filled_like_all(episodes):
    single = SingleChannels(episodes, fit_ranges(episodes))
    whole, part = _table(single, episodes), np.full((4, single.width), np.nan)
    single.fill(part, slice(6, 10), np.array([0]))
    np.testing.assert_array_equal(part, whole[6:])

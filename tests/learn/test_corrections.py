"""Frames of a human who took over count more; frames of the policy just before a takeover do not count."""

import numpy as np
import pytest

from tests.learn.demonstrated import reaching
from twinloop.learn.corrections import correction_weights
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.learn.mixture import Mixture
from twinloop.learn.space import DEFAULT_INPUTS

RATE_HZ = 10.0


def test_without_a_takeover_all_frames_count_equally():
    lengths = np.array([30, 20])
    for by_human in (np.zeros(50, bool), np.ones(50, bool), np.arange(50) < 30):
        assert correction_weights(by_human, lengths, rate_hz=RATE_HZ) is None


def test_the_second_before_a_takeover_is_left_out_and_half_of_the_draws_are_corrections():
    by_human = np.zeros(80, bool)
    by_human[40:45] = True  # a takeover in the first episode
    weights = correction_weights(by_human, np.array([60, 20]), rate_hz=RATE_HZ)
    assert weights is not None
    assert (weights[30:40] == 0).all()
    assert (weights[:30] == 1).all()
    assert (weights[45:] == 1).all()
    assert weights[40:45].sum() == pytest.approx(weights[:60][~by_human[:60]].sum())


def test_frames_left_out_are_of_the_same_episode():
    by_human = np.zeros(40, bool)
    by_human[23:30] = True
    weights = correction_weights(by_human, np.array([20, 20]), rate_hz=RATE_HZ)
    assert weights is not None
    assert (weights[:20] == 1).all()
    assert (weights[20:23] == 0).all()


def test_a_mixture_draws_frames_by_their_weights(tmp_path):
    demonstrations = load_demonstrations(reaching(tmp_path / "real", episodes=2, source="real"), DEFAULT_INPUTS)
    weights = np.zeros(demonstrations.frames)
    weights[[3, 7]] = 1, 3
    object.__setattr__(demonstrations, "frame_weights", weights)
    batch = Mixture([demonstrations], [1.0]).batch(4000, 1, seed=0, step=0)
    seventh = (batch.actions[:, 0] == demonstrations.action[7]).all(axis=1)
    third = (batch.actions[:, 0] == demonstrations.action[3]).all(axis=1)
    assert (seventh | third).all()
    assert seventh.mean() == pytest.approx(0.75, abs=0.03)

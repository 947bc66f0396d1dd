"""Somebody moves the object: as far as drawn, when drawn, and not out of the robot's hand."""

import numpy as np

from tests.conftest import Simulate
from twinloop.randomize.distribution import Uniform
from twinloop.twin.twin import Twin

MOVED = {"object_shift_probability": Uniform(1.0, 1.0), "object_shift_cm": Uniform(-5.0, 5.0)}


def _way_cm(episodes, tick: int) -> np.ndarray:
    places = episodes["environment"][:, :2]
    return 100 * (places[episodes.starts + tick] - places[episodes.starts])


def test_the_object_is_moved_once_and_the_expert_follows(simulate: Simulate, twin: Twin):
    episodes = simulate(24, ranges=MOVED | {"object_shift_at_s": Uniform(0.2, 0.2)})
    drawn_cm = np.column_stack([episodes.draws.values[f"object_shift_cm.{axis}"] for axis in "xy"])
    at = round(0.2 / twin.control_period_s)
    assert np.abs(_way_cm(episodes, at - 1)).max() < 0.05
    np.testing.assert_allclose(_way_cm(episodes, at + 2), drawn_cm, atol=0.1)
    assert episodes.success.mean() > 0.9
    assert not episodes.diverged.any()


def test_nobody_takes_it_out_of_the_hand(simulate: Simulate):
    usual = simulate(6, ranges={"object_position_noise_cm": Uniform(-2.0, 2.0)})
    ranges = MOVED | {"object_shift_at_s": Uniform(1.6, 1.6), "object_position_noise_cm": Uniform(-2.0, 2.0)}
    np.testing.assert_array_equal(simulate(6, ranges=ranges).tape, usual.tape)

"""The initial state of a toss: several frames of its flight give it better than one, and no frame after a contact."""

from dataclasses import replace

import numpy as np
import pytest

from tests.calibrate import tosses
from tests.calibrate.tosses import RATE_HZ, flying
from twinloop.calibrate.beginning import flight
from twinloop.calibrate.track import track_of

GRAVITY = np.array([0, 0, -9.81])


def begin(place: np.ndarray, turn: np.ndarray):
    return flight(place, turn, period_s=1 / RATE_HZ, gravity_m_s2=GRAVITY)


def test_an_exact_flight_is_found_exactly():
    place, turn, velocity, spin = flying(8, np.random.default_rng(0))
    result = begin(place, turn)
    for got, truth in zip(result, (place[0], turn[0], velocity, spin), strict=True):
        np.testing.assert_allclose(got, truth, atol=1e-6)


def test_eight_frames_tell_a_velocity_far_better_than_two():
    rng = np.random.default_rng(1)
    off = {2: [], 8: []}
    for _ in range(50):
        place, turn, velocity, spin = flying(8, rng)
        place, turn = place + 1e-4 * rng.standard_normal(place.shape), turn + 1e-3 * rng.standard_normal(turn.shape)
        for frames, errors in off.items():
            _, _, linear, angular = begin(place[:frames], turn[:frames])
            errors.append([np.linalg.norm(linear - velocity), np.linalg.norm(angular - spin)])
    assert (np.mean(off[8], axis=0) < 0.3 * np.mean(off[2], axis=0)).all()


def test_frames_after_a_touch_are_left_out():
    place, turn, velocity, _ = flying(12, np.random.default_rng(2))
    place[6:, 2] += 0.02 * np.arange(1, 7)
    result = begin(place, turn)
    assert result[2] == pytest.approx(velocity, abs=0.05)


def test_a_velocity_that_is_logged_half_a_frame_late_gets_the_missing_gravity():
    bench = tosses.bench()
    single = replace(bench, logs=replace(bench.logs, begin_frames=1))
    place, turn, velocity, spin = tosses.flying(3, np.random.default_rng(0))
    # A log that computes velocities as the difference to the frame before.
    late = velocity + np.array([0, 0, 0.5 * 9.81 / tosses.RATE_HZ])
    rows = np.column_stack([place / tosses.HALF_M, turn, np.tile(np.r_[late / tosses.HALF_M, spin], (3, 1))])
    (log,) = tosses.logs_of({"toss": rows})
    assert np.allclose(track_of(single, log).begin["speed"], velocity)

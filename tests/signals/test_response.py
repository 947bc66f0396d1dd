"""Dead time and lag are recovered, or reported as unknown."""

import numpy as np
import pytest

from twinloop.signals.response import response, simulate

FINE = 0.001


def recorded(delay_s: float, lag_s: float, *, rate_hz: float, seed: int, noise: float = 0.002, gain: float = 1.0):
    """Commands held between rows, a plant in steps of a millisecond, readings with noise: not how it is estimated."""
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(4):
        rows = int(8 * rate_hz)
        t = np.arange(rows) / rate_hz
        waves = [rng.normal() / (1 + f) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in (0.2, 0.6, 1.1, 2.3)]
        signal = np.sum(waves, axis=0)
        every = np.arange(0, t[-1], FINE)
        held = signal[np.clip(np.floor((every - delay_s) * rate_hz + 1e-9).astype(int), 0, rows - 1)]
        plant = np.empty(len(every))
        state = signal[0]
        for at, target in enumerate(held):
            plant[at] = state
            state += (gain * target - state) * (1 - np.exp(-FINE / lag_s))
        seen = plant[np.clip(np.round(t / FINE).astype(int), 0, len(every) - 1)] + rng.normal(0, noise, rows)
        episodes.append((signal, seen))
    return episodes


@pytest.mark.parametrize("rate_hz", [25.0, 30.0, 50.0, 100.0, 200.0])
@pytest.mark.parametrize(("delay_s", "lag_s"), [(0.041, 0.06), (0.12, 0.03)])
def test_a_known_delay_and_lag_are_found_to_a_few_milliseconds(rate_hz: float, delay_s: float, lag_s: float):
    result = response(recorded(delay_s, lag_s, rate_hz=rate_hz, seed=1), rate_hz=rate_hz, seed=0)
    assert result.unknown == ""
    assert result.delay_s == pytest.approx(delay_s, abs=0.004)
    assert result.lag_s == pytest.approx(lag_s, abs=0.005)
    assert result.total_s == pytest.approx(delay_s + lag_s, abs=0.003)


def test_a_weak_drive_has_a_gain_and_the_same_delay():
    result = response(recorded(0.05, 0.05, rate_hz=100, seed=2, gain=0.4), rate_hz=100, seed=0)
    assert result.gain == pytest.approx(0.4, abs=0.03)
    assert result.total_s == pytest.approx(0.1, abs=0.004)


def test_a_joint_at_rest_gives_no_response():
    rng = np.random.default_rng(0)
    still = [(np.zeros(400), rng.normal(0, 0.001, 400))]
    assert response(still, rate_hz=50, seed=0).unknown


def test_a_joint_that_does_not_follow_gives_no_response():
    rng = np.random.default_rng(0)
    other = [tuple(np.cumsum(rng.normal(size=(2, 600)), axis=1)) for _ in range(3)]
    assert "does not follow" in response([(a, b) for a, b in other], rate_hz=50, seed=0).unknown


@pytest.mark.parametrize("hold", ["held", "linear"])
def test_a_constant_command_stays_constant(hold):
    assert simulate(np.full(50, 2.5), 0.07, 0.1, rate_hz=50, hold=hold) == pytest.approx(np.full(50, 2.5))


def test_a_sampled_motion_is_half_a_period_later_than_a_held_one():
    (pair,) = [recorded(0.06, 0.05, rate_hz=50, seed=3)[0]]
    held, linear = (response([pair], rate_hz=50, seed=0, hold=hold) for hold in ("held", "linear"))
    assert linear.total_s - held.total_s == pytest.approx(0.01, abs=0.003)

"""Invariant 7: no command outside the limits leaves the runtime, for 100,000 arbitrary actions."""

from dataclasses import replace

import numpy as np
import pytest

from tests.deploy.made_up import described
from twinloop.deploy.robot import Limits
from twinloop.deploy.safety.bounds import Bounds, bounds_of, slowed
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.safety.workspace import Tool
from twinloop.twin.twin import Twin

HUNDRED_THOUSAND = 100_000
EPISODE = 500
"""Actions between two beginnings; every other one is after a stop somewhere else."""
TINY = 5e-324


def wild(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> object:
    """Arbitrary actions: valid, extreme, non-finite and of wrong types."""
    count, span = len(low), high - low
    kind = int(rng.integers(16))
    sane = low + span * rng.random(count)
    if kind == 0:
        sane[rng.integers(count)] = rng.choice([np.nan, np.inf, -np.inf])
        return sane
    if kind == 1:
        return np.full(count, rng.choice([np.nan, np.inf, -np.inf]))
    if kind == 2:
        return [sane[:-1], np.append(sane, 0.0), sane[None], np.float64(1.0), np.array([]), sane.reshape(2, -1)][
            rng.integers(6)
        ]
    if kind == 3:
        return [None, "home", {"joint1": 1}, np.array(["a"] * count), np.array([None] * count), object()][
            rng.integers(6)
        ]
    if kind == 4:
        return sane.astype(object)
    if kind == 5:
        return rng.choice([1e300, -1e300, 1e7, -1e7, 1e38], count)
    if kind == 6:
        return np.full(count, TINY) * rng.choice([-1, 1], count)
    if kind == 7:
        return (sane * 1000).astype(np.int64)
    if kind == 8:
        return low - span * rng.random(count)
    if kind == 9:
        return high + 100 * span
    if kind == 10:
        return list(sane)
    if kind == 11:
        return np.where(rng.random(count) < 0.5, low, high)
    if kind == 12:
        return sane + 1j
    return sane


def commands_of(bounds: Bounds, twin: Twin, *, actions: int, seed: int) -> list[np.ndarray]:
    """One array an episode: where the robot stood, then every command."""
    rng, about = np.random.default_rng(seed), described(twin)
    safety = SafetyFilter(about, bounds, twin)
    low, high = bounds.position.T
    home, episodes = np.array(about.home), []
    for number in range(actions // EPISODE):
        # Every second episode begins where the one before was stopped, at any speed.
        start = episodes[-1][-1] if number % 2 else home
        safety.begin(start)
        sent, action = [start], None
        for step in range(EPISODE):
            # Some actions are repeated for a while, so that full speed and the walls are reached.
            action = action if step % 25 > 10 else wild(rng, low, high)
            sent.append(safety.pass_on(action).command)
        episodes.append(np.array(sent))
    return episodes


def refuse_excess(episodes: list[np.ndarray], bounds: Bounds, twin: Twin, period_s: float) -> None:
    tool, (low, high) = Tool(twin), bounds.position.T
    slack = 1 + 1e-6
    for sent in episodes:
        assert np.isfinite(sent).all()
        assert (sent >= low).all()
        assert (sent <= high).all()
        velocity = np.diff(sent, axis=0) / period_s
        assert (np.abs(velocity) <= bounds.velocity * slack).all()
        change = np.diff(velocity, axis=0, prepend=np.zeros((1, len(low)))) / period_s
        assert (np.abs(change) <= bounds.acceleration * slack).all()
        places = tool.at(sent)
        outside = np.maximum(bounds.workspace_m[:, 0] - places, places - bounds.workspace_m[:, 1])
        assert outside.max() <= 1e-6


def test_a_hundred_thousand_wild_actions_put_no_command_outside_the_limits(twin: Twin):
    about = described(twin)
    bounds = bounds_of(about)
    episodes = commands_of(bounds, twin, actions=HUNDRED_THOUSAND, seed=7)
    assert sum(len(sent) - 1 for sent in episodes) == HUNDRED_THOUSAND
    refuse_excess(episodes, bounds, twin, about.period_s)
    # The limits were reached: full speed, the ends of the ranges, and the walls of the workspace.
    sent = np.concatenate(episodes)
    speeds = np.concatenate([np.abs(np.diff(commands, axis=0)) / about.period_s for commands in episodes])
    assert (speeds.max(axis=0) > 0.9 * np.minimum(bounds.velocity, 1e3))[:-1].all()
    places = Tool(twin).at(sent)
    assert (places.min(axis=0) < bounds.workspace_m[:, 0] + 0.02).all()
    assert (places.max(axis=0) > bounds.workspace_m[:, 1] - 0.02).all()


@pytest.mark.parametrize("speed", [0.5, 0.05])
def test_narrower_limits_hold_as_well(twin: Twin, speed: float):
    about = described(twin)
    box_m = np.array([[0.35, 0.6], [-0.2, 0.2], [0.2, 0.5]])
    bounds = replace(slowed(bounds_of(about), speed), workspace_m=box_m)
    episodes = commands_of(bounds, twin, actions=5000, seed=8)
    refuse_excess(episodes, bounds, twin, about.period_s)


def test_a_robot_without_any_dynamics_limits_keeps_to_its_positions(twin: Twin):
    about = described(twin)
    free = np.full(len(about.home), np.inf)
    limits = Limits(about.limits.position, free, free, free, np.array([[-np.inf, np.inf]] * 3))
    bounds = bounds_of(replace(about, limits=limits))
    episodes = commands_of(bounds, twin, actions=5000, seed=9)
    for sent in episodes:
        assert (sent >= bounds.position[:, 0]).all()
        assert (sent <= bounds.position[:, 1]).all()
    # No other limit applies: the requested position is reached one period later.
    safety = SafetyFilter(about, bounds, None)
    safety.begin(np.array(about.home))
    for action in (bounds.position[:, 0], bounds.position[:, 1], np.array(about.home)):
        np.testing.assert_allclose(safety.pass_on(action).command, action, atol=1e-9)

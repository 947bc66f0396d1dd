"""PolicyActor: inference runs when a chunk is finished; commands stay within limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from tests.learn.neighbours import Neighbours, space_of
from tests.short_episodes import short_episodes
from twinloop.learn.actor import BATCH, PolicyActor
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.runtime import PolicyRuntime
from twinloop.learn.space import Space
from twinloop.observe.features import observe
from twinloop.observe.history import HISTORY, history_feature, past_readings
from twinloop.observe.live_sensors import LiveSensors
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

NOISY = SEED_RANGES | {"encoder_noise_mrad": Uniform(0, 1), "observation_delay_ms": Uniform(0, 40)}


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    """Most runtimes of these tests never succeed."""
    with short_episodes("pick_and_place", 6.5):
        yield


def run(
    twin: Twin,
    runtime: PolicyRuntime,
    count: int,
    *,
    width: int | None = None,
    ensemble: float | None = None,
    ranges=SEED_RANGES,
) -> Episodes:
    width = width or count
    watch = LiveSensors(twin, ObserveConfig(), width=width, seed=9, features=runtime.space.sensed)
    actor = PolicyActor(twin, runtime, watch, ActingConfig(ensemble), width=width, seed=9)
    (episodes,) = rollout(Cell(twin, width=width), iter([Sampler(ranges, seed=9).draw(0, count)]), actor, seed=9)
    return episodes


@dataclass(frozen=True)
class Scripted:
    """A runtime that returns `say(tick of the episode, step ahead)` for every joint and records its inputs."""

    space: Space
    horizon: int
    executed: int
    say: object
    asked: list[np.ndarray] = field(default_factory=list)
    noises: list[np.ndarray] = field(default_factory=list)

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        assert not real
        assert len({len(instructions), len(noise), BATCH}) == 1
        self.asked.append(observation["observation.state"].copy())
        self.noises.append(noise.copy())
        tick = self.executed * (len(self.asked) - 1)
        steps = np.array([self.say(tick, ahead) for ahead in range(self.horizon)], float)  # type: ignore[operator]
        return np.broadcast_to(steps[None, :, None], (BATCH, self.horizon, 8)).copy()


def test_an_actor_with_a_good_runtime_succeeds(twin: Twin, neighbours: Neighbours):
    episodes = run(twin, neighbours, 12)
    assert episodes.success.mean() > 0.8
    ends = episodes.starts + episodes.lengths - 1
    assert (episodes["phase"][ends[episodes.success], 0] >= 5).all()


@pytest.mark.parametrize("ensemble", [None, 0.2])
def test_the_tape_is_the_same_at_any_width(twin: Twin, neighbours: Neighbours, ensemble: float | None):
    together = run(twin, neighbours, 6, ensemble=ensemble, ranges=NOISY)
    for width in (1, 4):
        apart = run(twin, neighbours, 6, width=width, ensemble=ensemble, ranges=NOISY)
        np.testing.assert_array_equal(apart.tape, together.tape)


def test_the_executed_part_of_a_chunk_is_commanded(twin: Twin):
    runtime = Scripted(space_of(twin), horizon=6, executed=4, say=lambda tick, ahead: -0.001 * (tick + ahead))
    episodes = run(twin, runtime, 1)
    assert len(runtime.asked) == -(-twin.longest_ticks // 4)
    # The first joint's range holds all of these.
    expected = -0.001 * np.arange(episodes.lengths[0])
    np.testing.assert_allclose(episodes["action"][:, 0], expected, atol=1e-6)


def test_the_inputs_of_the_runtime_are_recorded(twin: Twin):
    runtime = Scripted(space_of(twin), horizon=5, executed=5, say=lambda *_: 0.1)
    episodes = run(twin, runtime, 1, ranges=NOISY)
    recorded = observe(episodes, twin, ObserveConfig(), seed=9).frames["observation.state"]
    np.testing.assert_array_equal(np.array([asked[0] for asked in runtime.asked]), recorded[::5])


def test_the_history_that_the_runtime_gets_is_that_of_the_recording(twin: Twin):
    plain = space_of(twin)
    space = replace(plain, inputs=(*plain.inputs, history_feature(plain.inputs)))
    histories: list[np.ndarray] = []

    class Remembering(Scripted):
        def chunks(self, observation: Mapping[str, np.ndarray], **about) -> np.ndarray:
            histories.append(observation[HISTORY][0].copy())
            return super().chunks(observation, **about)

    episodes = run(twin, Remembering(space, horizon=5, executed=5, say=lambda *_: 0.1), 1, ranges=NOISY)
    frames = observe(episodes, twin, ObserveConfig(), seed=9).frames
    recorded = past_readings(frames, space.remembered, episodes.lengths, rate_hz=space.rate_hz)
    np.testing.assert_array_equal(np.array(histories), recorded[::5])


def test_an_ensemble_weighs_chunks_by_their_age(twin: Twin):
    runtime = Scripted(space_of(twin), horizon=3, executed=1, say=lambda tick, ahead: 0.1 * np.sin(tick) + ahead)
    episodes = run(twin, runtime, 1, ensemble=0.5)
    assert len(runtime.asked) == twin.longest_ticks
    weights = np.exp(-0.5 * np.arange(3))
    expected = [0.1 * np.sin(10 - age) + age for age in range(3)]
    assert episodes["action"][10, 0] == pytest.approx(np.average(expected, weights=weights), abs=1e-5)


def test_commands_stay_within_the_limits_for_any_action(twin: Twin):
    low, high = twin.arm_limits_rad.T
    for wild in (99.0, -99.0):
        episodes = run(twin, Scripted(space_of(twin), 4, 4, lambda *_, wild=wild: wild), 1)
        assert (episodes["command"][:, :-1] >= low - 1e-6).all()
        assert (episodes["command"][:, :-1] <= high + 1e-6).all()
        assert (episodes["command"][:, -1] >= twin.robot.gripper.closed - 1e-6).all()
        assert (episodes["command"][:, -1] <= twin.robot.gripper.open + 1e-6).all()


def test_non_finite_actions_are_not_commanded(twin: Twin):
    runtime = Scripted(space_of(twin), 4, 2, lambda tick, _: np.nan if tick % 4 else 0.05 + tick / 1e4)
    episodes = run(twin, runtime, 1)
    assert np.isfinite(episodes["command"]).all()
    command = episodes["command"][:, 0]
    np.testing.assert_array_equal(command[2:4], command[1:2].repeat(2))
    np.testing.assert_allclose(command[4:6], 0.0504, atol=1e-6)


def test_noise_is_each_episodes_own(twin: Twin):
    alone = Scripted(space_of(twin), 4, 4, lambda *_: 0.1)
    run(twin, alone, 1)
    together = replace(alone, asked=[], noises=[])
    run(twin, together, 3)
    for ours, theirs in zip(alone.noises, together.noises, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
    noise = np.concatenate([noise[:1] for noise in alone.noises])
    assert noise.std() == pytest.approx(1, abs=0.1)
    assert len(np.unique(noise)) > 0.99 * noise.size

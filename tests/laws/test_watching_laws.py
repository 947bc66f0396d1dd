"""Law: observations during an episode equal its recording, bit for bit."""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from twinloop.observe.features import observe
from twinloop.observe.live_sensors import LiveSensors
from twinloop.observe.sensor_errors import HOOKS
from twinloop.observe.sensors import ObserveConfig, Velocity
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.table import BY_NAME
from twinloop.simulate.actor import Actor, SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin

EVERY_SENSOR = SEED_RANGES | {
    name: Uniform(*BY_NAME[name].sensible)
    for row, _ in HOOKS
    if "arm" in row.robots
    for name in (row.name, *row.beside)
}
WIDTHS = (1, 3, 8)


class Witness:
    """Passes commands of another actor on and records the sensor values."""

    def __init__(self, actor: Actor, watch: LiveSensors):
        self.actor, self.watch = actor, watch
        self.attempt: dict[int, int] = {}
        self.seen: dict[int, dict[str, list[np.ndarray]]] = {}

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.actor.begin(ids, draws, rows)
        self.watch.begin(ids, draws, rows)
        for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
            self.attempt[int(slot)] = int(attempt)
            self.seen[int(attempt)] = {name: [] for name in self.watch.features}

    def act(self, cell: Cell) -> SlotActions:
        for name, values in self.watch.look(cell).items():
            for slot, attempt in self.attempt.items():
                self.seen[attempt][name].append(values[slot].copy())
        return self.actor.act(cell)


@pytest.fixture(scope="module")
def wrist_twin(twin: Twin) -> Twin:
    return assemble(twin.robot, twin.task, twin.object, features=Features(wrist_sensors=True))


def assert_seen_as_recorded(twin: Twin, config: ObserveConfig, ranges: dict, width: int) -> None:
    draws = Sampler(ranges, seed=5).draw(0, 6)
    watch = LiveSensors(twin, config, width=width, seed=5)
    witness = Witness(Expert(twin, ExpertConfig(), width=width, seed=5), watch)
    (episodes,) = rollout(Cell(twin, width=width), iter([draws]), witness, seed=5)
    recording = observe(episodes, twin, config, seed=5)
    for row, (start, length) in enumerate(zip(episodes.starts, episodes.lengths, strict=True)):
        for name, frames in witness.seen[row].items():
            recorded = recording.frames[name][start : start + length]
            np.testing.assert_array_equal(np.array(frames[:length]), recorded, err_msg=f"{name} of episode {row}")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("velocity", ["measured", "differentiated"])
def test_live_observations_equal_the_recording(wrist_twin: Twin, velocity: Velocity, width: int):
    assert_seen_as_recorded(wrist_twin, ObserveConfig(velocity=velocity, wrist=True), EVERY_SENSOR, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_live_observations_equal_the_recording_without_sensor_errors(twin: Twin, width: int):
    assert_seen_as_recorded(twin, ObserveConfig(), SEED_RANGES, width)


def test_live_observations_equal_the_recording_with_derived_velocity(twin: Twin):
    assert_seen_as_recorded(twin, ObserveConfig(velocity="differentiated"), SEED_RANGES, 4)

"""The CPU engine reads forces once per control period, and reads what it would read in every step."""

import numpy as np
import pytest

from twinloop.randomize.distribution import Constant
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.cpu_engine import CpuEngine
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

PERIODS = 150  # six seconds, in which small errors of the time add up
WIDTH = 2


class EveryStep(CpuEngine):
    """The engine with its default: all sensors are read in every step."""

    def read_forces_every(self, substeps: int) -> None:
        """Do nothing."""


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["no delay", "delay lines"])
def sensing_twin(request: pytest.FixtureRequest) -> Twin:
    features = Features(wrist_sensors=True, touch=True, longest_delay_s=request.param)
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=features)


def _readings(twin: Twin, engine: CpuEngine) -> np.ndarray:
    """(periods, slots, sensors) readings of arms that move down onto the table and up again."""
    cell = Cell(twin, width=WIDTH, engine=engine)
    ids, draws = np.arange(WIDTH), Sampler({"object_mass_kg": Constant(0.2)}, seed=0).draw(0, WIDTH)
    cell.admit(ids, draws, ids)
    sensors, home = cell.batch.bind("sensordata"), np.tile(twin.robot.home_rad, (WIDTH, 1))
    opening = np.tile([arm.gripper.open for arm in twin.robot.arms], (WIDTH, 1))
    readings = [sensors.copy()]
    for period in range(PERIODS):
        command = home.copy()
        command[0, 1] += np.sin(period / 20)
        if period == PERIODS // 2:
            cell.engine.forward(ids)  # as after a thing was moved by hand
        cell.step(None, command, opening)
        readings.append(sensors.copy())
    return np.array(readings)


def test_forces_are_those_of_an_engine_that_reads_them_in_every_step(sensing_twin: Twin):
    sparse = CpuEngine(sensing_twin.model, width=WIDTH)
    readings = _readings(sensing_twin, sparse)
    np.testing.assert_array_equal(readings, _readings(sensing_twin, EveryStep(sensing_twin.model, width=WIDTH)))
    for name in ("hardest", "support", "force"):
        assert np.ptp(readings[..., sensing_twin.sensors[name]]) > 0.1, name


def test_forces_are_not_read_in_other_steps(sensing_twin: Twin):
    engine = CpuEngine(sensing_twin.model, width=WIDTH)
    cell = Cell(sensing_twin, width=WIDTH, engine=engine)
    ids = np.arange(WIDTH)
    cell.admit(ids, Sampler({}, seed=0).draw(0, WIDTH), ids)
    acceleration = engine.bind("sensordata")[:, sensing_twin.sensors["acceleration"]]
    engine.bind("ctrl")[:] += 0.2
    changed = []
    for _ in range(3 * sensing_twin.substeps):
        before = acceleration.copy()
        engine.step(None, 1)
        acceleration = engine.bind("sensordata")[:, sensing_twin.sensors["acceleration"]]
        changed.append(not np.array_equal(before, acceleration))
    last = sensing_twin.substeps - 1
    assert np.flatnonzero(changed).tolist() == [
        # The first step shows the empty history, which nobody reads.
        0, last, last + sensing_twin.substeps, last + 2 * sensing_twin.substeps,
    ]  # fmt: skip

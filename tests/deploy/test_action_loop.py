"""ActionLoop: chunks are executed in order; of a late chunk only the valid part is used."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import described
from tests.deploy.unruly import PROGRAM, policy_file
from twinloop.deploy.action_loop import ActionLoop
from twinloop.deploy.estop import EStop
from twinloop.deploy.operator_input import EpisodeStopped, OperatorInput
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.deploy.robot import Briefing, Reading
from twinloop.errors import PolicyError
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.space import DEFAULT_INPUTS
from twinloop.observe.history import HISTORY
from twinloop.twin.twin import Twin

LATER_S = 60.0

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.fixture
def process(twin: Twin, tmp_path: Path) -> Iterator[PolicyProcess]:
    """Each chunk is 0, 1, 2, 3, of which three actions are executed."""
    file = policy_file(tmp_path / "policy.json", described(twin).space(), does="count", horizon=4, executed=3)
    with PolicyProcess(file, program=PROGRAM) as policy:
        yield policy


class Flight:
    def __init__(self, process: PolicyProcess, twin: Twin, tmp_path: Path, *, lockstep: bool, ensemble=None):
        self.pilot = ActionLoop(process, ActingConfig(ensemble), lockstep=lockstep)
        self.estop = EStop(tmp_path / "stop")
        self.pilot.begin(Briefing("count", {}), scene=0, rng=np.random.default_rng(0))
        features = {feature.name: np.zeros(feature.shape, np.float32) for feature in described(twin).observed}
        self.reading = Reading(0, 0.0, features)

    def act(self, wait_s: float = LATER_S) -> float | None:
        decision = self.pilot.act(self.reading, OperatorInput(self.estop), time.monotonic() + wait_s)
        return None if decision.action is None else float(decision.action[0])


def test_the_executed_part_of_each_chunk_is_commanded(process: PolicyProcess, twin: Twin, tmp_path: Path):
    flight = Flight(process, twin, tmp_path, lockstep=True)
    assert [flight.act() for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_an_ensemble_averages_all_chunks_of_a_period(process: PolicyProcess, twin: Twin, tmp_path: Path):
    flight = Flight(process, twin, tmp_path, lockstep=True, ensemble=0.0)
    assert [flight.act() for _ in range(6)] == pytest.approx([0, 0.5, 1, 1.5, 1.5, 1.5])


def test_a_late_chunk_is_used_from_its_valid_part(twin: Twin, tmp_path: Path):
    about = {"does": "count", "horizon": 4, "executed": 3, "seconds": 0.5}
    file = policy_file(tmp_path / "policy.json", described(twin).space(), **about)
    with PolicyProcess(file, program=PROGRAM) as process:
        flight = Flight(process, twin, tmp_path, lockstep=False)
        assert flight.act(wait_s=-1) is None
        assert flight.pilot.waiting
        assert [flight.act() for _ in range(3)] == [1, 2, 3]
        assert flight.act() == 0


def test_a_policy_gets_the_mean_of_the_last_readings(twin: Twin, tmp_path: Path):
    space = described(twin).space((*DEFAULT_INPUTS, HISTORY))
    file = policy_file(tmp_path / "policy.json", space, does="recall", horizon=1, executed=1)
    with PolicyProcess(file, program=PROGRAM) as process:
        flight = Flight(process, twin, tmp_path, lockstep=True)
        commanded = []
        for tick in range(6):
            flight.reading.features["observation.state"][0] = tick
            commanded.append(flight.act())
    assert commanded == [0, 0, 0.5, 1.5, 2.5, 3.5]  # means over the two readings before


def test_inference_times_out_in_lockstep(twin: Twin, tmp_path: Path):
    file = policy_file(tmp_path / "policy.json", described(twin).space(), does="hang")
    with PolicyProcess(file, program=PROGRAM) as process:
        flight = Flight(process, twin, tmp_path, lockstep=True)
        with pytest.raises(PolicyError, match="has not answered"):
            flight.act(wait_s=-1)
        assert not process.running


def test_the_e_stop_is_polled_during_inference(twin: Twin, tmp_path: Path):
    file = policy_file(tmp_path / "policy.json", described(twin).space(), does="hang")
    with PolicyProcess(file, program=PROGRAM) as process:
        flight = Flight(process, twin, tmp_path, lockstep=True)
        flight.estop.trip("a test")
        with pytest.raises(EpisodeStopped, match="a test"):
            flight.act()

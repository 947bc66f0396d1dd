"""Promise: diverged physics is a verdict, never a row, and does not affect other simulations."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from tests.faults.counts import fresh_rng, times
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.observe.features import observe
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.draw import Draws, Sampler
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin


def not_a_number(cell: Cell, slot: int, act: SlotActions, rng: Random) -> None:
    where = {"qpos": cell.batch.bind("qpos"), "qvel": cell.batch.bind("qvel"), "command": act.command_rad}
    values = where[rng.choice(sorted(where))][slot]
    values[rng.randrange(len(values))] = rng.choice([np.nan, np.inf, -np.inf])


def huge_force(cell: Cell, slot: int, _: SlotActions, rng: Random) -> None:
    forces = cell.batch.bind("qfrc_applied")[slot]
    forces[rng.randrange(len(forces))] = rng.choice([-1, 1]) * 10.0 ** rng.uniform(9, 300)


def huge_step(cell: Cell, slot: int, _: SlotActions, rng: Random) -> None:
    cell["opt.timestep"][slot] = 10.0 ** rng.uniform(0, 6)


def nothing(*_: object) -> None:
    """A mass is wrong from the beginning: see `drawn`."""


Fault = Callable[[Cell, int, SlotActions, Random], None]
FAULTS: dict[str, Fault] = {
    "NaN": not_a_number,
    "huge forces": huge_force,
    "zero mass": nothing,
    "huge steps": huge_step,
}


def drawn(count: int, massless: Iterable[int], rng: Random) -> Draws:
    draws = Sampler(SEED_RANGES, seed=0).draw(0, count)
    masses = draws.values["object_mass_kg"].copy()
    for row in massless:
        masses[row] = rng.choice([0.0, -0.0, 1e-300, -0.1, np.nan])
    return replace(draws, values={**draws.values, "object_mass_kg": masses})


class Saboteur:
    """An expert that breaks some slots of its cell, each in its own control period."""

    def __init__(self, expert: Expert, fault: Fault, periods: dict[int, int], rng: Random):
        self.expert, self.fault, self.periods, self.rng = expert, fault, periods, rng
        self.period = 0

    def begin(self, ids, draws, rows) -> None:
        self.expert.begin(ids, draws, rows)

    def act(self, cell: Cell) -> SlotActions:
        act = self.expert.act(cell)
        for slot, period in self.periods.items():
            if period == self.period:
                self.fault(cell, slot, act, self.rng)
        self.period += 1
        return act


def simulated(twin: Twin, count: int, name: str, periods: dict[int, int], rng: Random) -> Episodes:
    cell = Cell(twin, width=count, threads=2)
    expert = Expert(twin, ExpertConfig(), width=count, seed=0)
    # Both runs have separate values per slot.
    for field in ("body_mass", "body_inertia", "opt.timestep"):
        cell[field]
    draws = drawn(count, periods if name == "zero mass" else (), rng)
    (episodes,) = rollout(cell, iter([draws]), Saboteur(expert, FAULTS[name], periods, rng), seed=0)
    return episodes


@pytest.fixture(scope="module")
def undisturbed(twin: Twin) -> Episodes:
    return simulated(twin, 2 * times(6, 100), "NaN", {}, Random(0))


def test_numbers_beyond_single_precision_are_recorded_without_a_warning(
    twin: Twin, undisturbed: Episodes, monkeypatch: pytest.MonkeyPatch
):
    """With this seed a thing is thrown so fast that its speed does not fit into single precision."""
    monkeypatch.setenv("TWINLOOP_SEED", "2074804296")
    test_diverged_simulations_get_a_verdict_and_do_not_affect_others(twin, undisturbed, "huge forces")


@pytest.mark.parametrize("name", FAULTS)
def test_diverged_simulations_get_a_verdict_and_do_not_affect_others(twin: Twin, undisturbed: Episodes, name: str):
    rng, count = fresh_rng(), len(undisturbed.lengths)
    broken = sorted(rng.sample(range(count), count // 2))
    periods = {slot: rng.randrange(1, 40) for slot in broken}
    episodes = simulated(twin, count, name, periods, rng)
    verdicts = judge(episodes, twin, CurateConfig())
    reasons = {slot: verdicts.reasons[slot] for slot in broken}
    print(name, Counter(reasons.values()))
    assert all(reason and reason != "accepted" for reason in reasons.values()), reasons
    assert not any(verdicts.accepted[slot] for slot in broken)
    if name != "huge forces":  # the arm may stay valid, but throws things
        assert set(reasons.values()) <= {"diverged", "non_finite"}
    recording = observe(episodes, twin, ObserveConfig(), seed=0).take(verdicts.storable)
    assert all(np.isfinite(values).all() for values in recording.frames.values())
    expected = judge(undisturbed, twin, CurateConfig())
    for row in sorted(set(range(count)) - set(broken)):
        ours, theirs = (
            run.tape[run.starts[row] : run.starts[row] + run.lengths[row]] for run in (episodes, undisturbed)
        )
        np.testing.assert_array_equal(ours, theirs)
        assert verdicts.reasons[row] == expected.reasons[row]

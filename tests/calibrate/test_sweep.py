"""The parts of a sweep give the same bits wherever they are simulated."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.calibrate import tosses
from tests.calibrate.made import command, xl330
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Sweep, SweepPart, Swept, Where, parts_of, simulate_parts
from twinloop.calibrate.track import track_of
from twinloop.errors import WorkerError
from twinloop.fleet.executor import LocalExecutor, Work

Made = tuple[Bench, list[Log], tuple[str, ...]]


def pendulum() -> Made:
    logs = [command(kind, 200).select(slice(0, 60 + 30 * kind)) for kind in (0, 1)]
    return xl330(), logs, ("pendulum.resistance_ohm", "pendulum.lag_ms", "pendulum.stribeck_nm")


def cube() -> Made:
    logs = tosses.logs_of(tosses.tossed({"friction": 0.2}, count=2, frames=60, rng=np.random.default_rng(0)))
    return tosses.bench(), logs, ("friction", "contact_damping_ratio")


@pytest.mark.parametrize("sets", [1, 2, 7])
@pytest.mark.parametrize("workers", [1, 3, 20])
def test_parts_are_all_sets_once_in_order(sets: int, workers: int):
    values = np.random.default_rng(sets).random((sets, 2))
    parts = parts_of(values, workers)
    assert len(parts) == min(sets, workers)
    assert np.array_equal(np.concatenate([part.values for part in parts]), values)
    assert [part.first for part in parts] == list(np.cumsum([0, *(len(part.values) for part in parts[:-1])]))
    assert np.ptp([len(part.values) for part in parts]) <= 1


class LastFirst(LocalExecutor):
    """Does the items of a sweep in this process, from the last to the first."""

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:  # noqa: ARG002
        return work(job, iter(list(items)[::-1]))


@pytest.mark.parametrize("made", [pendulum, cube])
def test_a_sweep_in_parts_is_one_batch(made: Callable[[], Made]):
    bench, logs, names = made()
    variables = [bench.variables[name] for name in names]
    places = np.random.default_rng(1).random((5, len(names)))
    values = np.stack([variable.outward(places[:, k]) for k, variable in enumerate(variables)], axis=1)
    plant = BenchSimulator(bench, logs, names)
    whole = plant.simulate(values)
    sweep = Sweep.of(bench, plant.tracks, names)
    for workers in (2, 5):
        parts = Swept(Where(executor=LastFirst(), workers=workers), sweep).simulate(values)
        assert parts.keys() == whole.keys()
        assert all(np.array_equal(parts[name], whole[name], equal_nan=True) for name in whole)


def test_a_worker_with_another_engine_is_refused():
    bench, logs, names = pendulum()
    sweep = Sweep.of(bench, [track_of(bench, log) for log in logs], names)
    with pytest.raises(WorkerError, match=r"mujoco .* instead of 3\.0\.0"):
        list(simulate_parts(replace(sweep, versions=(("mujoco", "3.0.0"),)), iter([SweepPart(0, ((1.0, 1.0, 1.0),))])))

"""Sweeps over parameter sets on other machines: each worker simulates a part of the sets.

The result equals that of threads in one process to the bit.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.slots import Rig, joined
from twinloop.calibrate.track import Track
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.fleet.same_versions import refuse_other_versions

VERSIONS = (("mujoco", mujoco.__version__), ("numpy", np.__version__))
MOST_RIGS = 4  # a fit alternates between a few simulators


@dataclass(frozen=True)
class Where:
    """Where parameter sets are simulated.

    Attributes:
        threads: threads of this process, with the local executor.
        workers: workers of another executor, one core each; None uses all.
    """

    threads: int = 2
    executor: Executor = LOCAL
    workers: int | None = None


HERE = Where()


@dataclass(frozen=True)
class Sweep:
    """The data that a worker needs to simulate. `key`: unique; a worker caches its simulator under it."""

    key: str
    bench: Bench
    tracks: tuple[Track, ...]
    names: tuple[str, ...]
    versions: tuple[tuple[str, str], ...] = VERSIONS
    """Versions on the driver; a worker with other versions is refused, because its results could differ."""

    @classmethod
    def of(cls, bench: Bench, tracks: Sequence[Track], names: tuple[str, ...]) -> "Sweep":
        """Make a sweep without measurements: the simulation does not use them, and they are most of a log."""
        bare = (replace(track, measured={}, log=replace(track.log, columns={}, time_s=np.empty(0))) for track in tracks)
        return cls(secrets.token_hex(8), bench, tuple(bare), names)


@dataclass(frozen=True)
class SweepPart:
    """Consecutive parameter sets, the first of them at place `first`."""

    first: int
    values: tuple[tuple[float, ...], ...]


def parts_of(values: np.ndarray, workers: int) -> list[SweepPart]:
    """Parts of equal size (within one), at most one per worker."""
    rows, count = [tuple(map(float, row)) for row in values], min(workers, len(values))
    ends = [part * len(rows) // count for part in range(count + 1)]
    return [SweepPart(first, tuple(rows[first:stop])) for first, stop in pairwise(ends)]


def simulate_parts(sweep: Sweep, parts: Iterator[SweepPart]) -> Iterator[tuple[SweepPart, dict[str, np.ndarray]]]:
    """Simulate parts in one worker."""
    refuse_other_versions(sweep.versions, dict(VERSIONS), otherwise="the fit would depend on the worker")
    rig = _rig_of(sweep)
    for part in parts:
        yield part, rig.simulate(np.array(part.values).reshape(len(part.values), len(sweep.names)))


_RIGS: OrderedDict[str, Rig] = OrderedDict()


def _rig_of(sweep: Sweep) -> Rig:
    """The simulator of a sweep, cached in the worker."""
    if sweep.key not in _RIGS:
        while len(_RIGS) >= MOST_RIGS:
            _RIGS.popitem(last=False)
        _RIGS[sweep.key] = Rig(sweep.bench, sweep.tracks, sweep.names, threads=1)
    _RIGS.move_to_end(sweep.key)
    return _RIGS[sweep.key]


class Swept:
    """Simulates sweeps on an executor. Everything except the values is sent once."""

    def __init__(self, where: Where, sweep: Sweep):
        self._executor, self._workers = where.executor, where.workers or where.executor.capacity()
        self._sent: Any = where.executor.sent(sweep)

    def simulate(self, values: np.ndarray) -> dict[str, np.ndarray]:
        parts = parts_of(values, self._workers)
        done = self._executor.run(simulate_parts, self._sent, parts, workers=len(parts))
        return joined([result for _, result in sorted(done, key=lambda row: row[0].first)])

"""BenchSimulator: a bench simulated for many parameter sets and many logs at once.

Each pair of a parameter set and a log is one simulation. The coupled simulation runs in the physics engine, in batches
on this machine (slots.py) or on others (sweep.py). The decoupled one (decoupled.py) is cheaper; `loads.can_decouple`
says where it holds.
"""

from collections.abc import Sequence

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.decoupled import DecoupledSimulator
from twinloop.calibrate.logs import Log
from twinloop.calibrate.slots import Rig
from twinloop.calibrate.sweep import HERE, Sweep, Swept, Where
from twinloop.calibrate.track import track_of


class BenchSimulator:
    """The simulations of some logs of a bench. `simulate` takes (sets, fit variables) in the order of `names`."""

    def __init__(
        self, bench: Bench, logs: Sequence[Log], names: Sequence[str], *, where: Where = HERE, decoupled: bool = False
    ):
        self.bench, self.names, self.decoupled, self._where = bench, tuple(names), decoupled, where
        self.tracks = [track_of(bench, log) for log in logs]
        self.frames = max(track.frames for track in self.tracks)
        self._rig: Rig | Swept | DecoupledSimulator | None = None

    def simulate(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Channel -> (sets, logs, frames, elements) in the model's units; NaN past a log's end."""
        if self._rig is None:
            self._rig = self._make_simulator()
        return self._rig.simulate(np.atleast_2d(np.asarray(values, float)))

    def _make_simulator(self) -> Rig | Swept | DecoupledSimulator:
        if self.decoupled:
            return DecoupledSimulator(self.bench, self.tracks, self.names)
        if self._where.executor.name == "local":
            return Rig(self.bench, self.tracks, self.names, threads=self._where.threads)
        return Swept(self._where, Sweep.of(self.bench, self.tracks, self.names))

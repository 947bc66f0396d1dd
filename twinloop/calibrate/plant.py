"""BenchSimulator: a bench simulated for many parameter sets and many logs at once.

Every pair of a parameter set and a log is one simulation of a batch (slots.py), here or elsewhere (sweep.py).
"""

from collections.abc import Sequence

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.slots import Rig
from twinloop.calibrate.sweep import HERE, Sweep, Swept, Where
from twinloop.calibrate.track import track_of


class BenchSimulator:
    """The simulations of some logs of a bench. `simulate` takes (sets, knobs) values in the order of `names`."""

    def __init__(self, bench: Bench, logs: Sequence[Log], names: Sequence[str], *, where: Where = HERE):
        self.bench, self.names, self._where = bench, tuple(names), where
        self.tracks = [track_of(bench, log) for log in logs]
        self.frames = max(track.frames for track in self.tracks)
        self._rig: Rig | Swept | None = None

    def simulate(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Channel -> (sets, logs, frames, elements) in the model's units; NaN past a log's end."""
        if self._rig is None:
            self._rig = self._made()
        return self._rig.simulate(np.atleast_2d(np.asarray(values, float)))

    def _made(self) -> Rig | Swept:
        if self._where.executor.name == "local":
            return Rig(self.bench, self.tracks, self.names, threads=self._where.threads)
        return Swept(self._where, Sweep.of(self.bench, self.tracks, self.names))

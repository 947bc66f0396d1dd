"""MuJoCo on the CPU: threads in C, double precision, bit-identical at any width and any number of threads."""

from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

_SEEN = mujoco.mjtStage.mjSTAGE_VEL.value


class CpuEngine:
    def __init__(self, model: mujoco.MjModel, *, width: int, threads: int = 1):
        _quieten()
        # Persistent: the stages computed to observe a state are those the next step begins with.
        self.batch = Batch(model, width, threads, persistent=True)
        self._raised = np.zeros(width, bool)
        self.bind, self.expand = self.batch.bind, self.batch.expand

    def reset(self, ids: np.ndarray) -> None:
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._raised[ids] = False

    def set_const(self, ids: np.ndarray) -> None:
        self._call(self.batch.set_const, ids)

    def forward(self, ids: np.ndarray) -> None:
        self._call(self.batch.forward, ids)

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        self._call(lambda these: self.batch.step(these, nstep=substeps, stage=_SEEN), ids)

    def failed(self) -> np.ndarray:
        return self._raised | self.batch.warning[:, :, 1].any(axis=1)

    def _call(self, function: Callable[[np.ndarray | None], None], ids: np.ndarray | None) -> None:
        try:
            function(ids)
        except SimulationError as error:
            # Those simulations keep the state they had; the others ran on. Their episodes end as diverged.
            self._raised[error.ids] = True


def _quieten() -> None:
    """A diverging simulation warns every step, to the console and into a file. The counters say it all."""
    config = mujoco.MjLogConfig.get()
    config.logto_console = config.logto_file = False
    config.set()

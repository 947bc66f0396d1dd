"""MuJoCo on the CPU: C threads and double precision. Results are bit-identical at any width and number of threads."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

_SEEN = mujoco.mjtStage.mjSTAGE_VEL.value


class CpuEngine:
    def __init__(self, model: mujoco.MjModel, *, width: int, threads: int = 1):
        _quieten()
        _stop_profiler()
        # Persistent: the next step reuses the stages that were computed to observe the state.
        self.batch = Batch(model, width, threads, persistent=True)
        self._raised = np.zeros(width, bool)
        self.bind, self.expand = self.batch.bind, self.batch.expand
        self._time_s, self._history = self.bind("time"), self.bind("history")
        self._model, self._period_s = model, 0.0
        self._read_at = np.zeros(0, int)

    def read_forces_every(self, substeps: int) -> None:
        model = self._model
        forces = (model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC.value) & (model.sensor_history[:, 0] > 0)
        if substeps == 1 or not forces.any():
            return
        self._period_s = substeps * model.opt.timestep
        self.expand("sensor_interval")[:, forces, 0] = self._period_s
        self._read_at = model.sensor_historyadr[forces]

    def reset(self, ids: np.ndarray) -> None:
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._raised[ids] = False

    def set_const(self, ids: np.ndarray) -> None:
        self._call(self.batch.set_const, ids)

    def forward(self, ids: np.ndarray) -> None:
        self._set_last_reading(ids, -self._period_s)
        self._call(self.batch.forward, ids)
        # Half a step early, so that rounding of the time does not move a reading to the next step.
        self._set_last_reading(ids, -1.5 * self._model.opt.timestep)

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        self._call(lambda these: self.batch.step(these, nstep=substeps, stage=_SEEN), ids)

    def failed(self) -> np.ndarray:
        return self._raised | self.batch.warning[:, :, 1].any(axis=1)

    def _set_last_reading(self, ids: np.ndarray, offset_s: float) -> None:
        """Set the time of the last reading, relative to now. It is the first number in the history of a sensor."""
        if self._period_s:
            self._history[np.ix_(ids, self._read_at)] = self._time_s[ids, None] + offset_s

    def _call(self, function: Callable[[np.ndarray | None], None], ids: np.ndarray | None) -> None:
        try:
            function(ids)
        except SimulationError as error:
            # These simulations keep their state and end as diverged; the others have been stepped.
            self._raised[error.ids] = True


def _quieten() -> None:
    """Turn off MuJoCo's log, which gets a warning per step of a diverging simulation. Warning counters are kept."""
    config = mujoco.MjLogConfig.get()
    config.logto_console = config.logto_file = False
    config.set()


def _stop_profiler() -> None:
    """Turn off MuJoCo's profiler in this process: `MjData.timer` stays at zero, everything else is the same.

    It reads the clock many times a step, which takes 5 % of the time of a step.
    """
    for callback in profiler_callbacks():
        callback.value = None


def profiler_callbacks() -> list[ctypes.c_void_p]:
    """The C variable of the engine's library that holds the profiler's clock function.

    `import mujoco` sets it, and `mujoco.set_mjcb_time` cannot clear it. A library without this symbol gives no entry.
    """
    callbacks = []
    for library in Path(mujoco.__file__).parent.glob("libmujoco*"):
        with suppress(OSError, ValueError):
            callbacks.append(ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time"))
    return callbacks

"""Engine: steps many simulations of one model at once. The protocol has only the operations that a cell needs.

There are two engines: MuJoCo on the CPU, which is the default, and MuJoCo Warp for GPUs. They solve the same equations,
in double and in single precision. Their trajectories agree for a short time and then diverge from each other, so each
dataset is made with one engine (`docs/gpu.md`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import mujoco
import numpy as np

from twinloop.randomize.distribution import Distribution
from twinloop.twin.twin import Twin

Backend = Literal["cpu", "warp"]

MOST_CONTACTS, MOST_ROWS = 256, 256
"""Maximum contacts and constraint rows of one simulation on a device, where memory is allocated once. A simulation that
needs more has failed."""


@dataclass(frozen=True)
class EngineConfig:
    """The engine, and the device of Warp: `cpu` or `cuda:0`. The device is empty for the CPU engine."""

    backend: Backend = "cpu"
    device: str = ""


class Engine(Protocol):
    """`width` simulations of one model. `ids` selects simulations; None means all."""

    def bind(self, field: str) -> np.ndarray:
        """A live (width, ...) array of a field. State fields can be read and written, computed fields only read."""
        ...

    def expand(self, field: str) -> np.ndarray:
        """The (width, ...) values of a model field, to write. From now on each simulation has its own values."""
        ...

    def read_forces_every(self, substeps: int) -> None:
        """Read the sensors that depend on forces in the last of every `substeps` steps only.

        They are read nowhere else. An engine may ignore it. The first period begins with `forward`.
        """
        ...

    def reset(self, ids: np.ndarray) -> None:
        """Reset to the model's defaults. The caller then writes the state and calls `forward`."""
        ...

    def set_const(self, ids: np.ndarray) -> None:
        """Recompute the constants that depend on model fields."""
        ...

    def forward(self, ids: np.ndarray) -> None:
        """Compute all derived quantities of the current state."""
        ...

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        """Advance by `substeps` steps, then compute all quantities that depend on the new positions and velocities.

        Forces, and sensors that read them, are those of the last step.
        """
        ...

    def failed(self) -> np.ndarray:
        """(width,) True for simulations that have raised or warned since their last reset."""
        ...


def refuse_unsupported(config: EngineConfig, twin: Twin, randomization: Mapping[str, Distribution]) -> None:
    """Raise if the engine cannot simulate this twin with this randomization. The CPU engine supports everything."""
    if config.backend == "warp":
        from twinloop.simulate import warp_support

        warp_support.refuse_unsupported(twin, randomization)


def make_engine(config: EngineConfig, model: mujoco.MjModel, *, width: int, threads: int = 1) -> Engine:
    if config.backend == "warp":
        # Imported here because it takes a second and is an optional package.
        from twinloop.simulate.warp_support import load_warp

        load_warp()
        from twinloop.simulate.warp_engine import WarpEngine

        return WarpEngine(model, width=width, device=config.device)
    from twinloop.simulate.cpu_engine import CpuEngine

    return CpuEngine(model, width=width, threads=threads)

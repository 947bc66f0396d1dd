"""Engine: what steps many simulations of one model at once. A cell needs these few operations and no others.

Two engines have them: MuJoCo on the CPU, which every dataset is made with unless it says otherwise, and MuJoCo Warp,
for GPUs. They solve the same equations, one in double precision and one in single: what they make agrees for a short
while and then goes its own way, so a dataset is made by one of them (`docs/gpu.md`).
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
"""Contacts and rows of constraints that a simulation may have on a device, where room is given once. What needs more
has failed."""


@dataclass(frozen=True)
class EngineConfig:
    """Which engine, and of Warp, on which device: `cpu`, `cuda:0`; empty for the CPU engine, which has none."""

    backend: Backend = "cpu"
    device: str = ""


class Engine(Protocol):
    """`width` simulations of one model. `ids` are some of them; None: all."""

    def bind(self, field: str) -> np.ndarray:
        """A live (width, ...) array over a field of the state, to read and write, or over a computed one, to read."""
        ...

    def expand(self, field: str) -> np.ndarray:
        """The (width, ...) values of a model field, which differ between simulations from now on, to write."""
        ...

    def reset(self, ids: np.ndarray) -> None:
        """Back to the model's defaults, for writes and a `forward` to follow."""
        ...

    def set_const(self, ids: np.ndarray) -> None:
        """Recompute the constants that follow from model fields."""
        ...

    def forward(self, ids: np.ndarray) -> None:
        """Compute everything at the state as it is."""
        ...

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        """Advance by that many steps, then compute what follows from positions and velocities at the new state.
        Forces, and sensors that read them, are those of the last step."""
        ...

    def failed(self) -> np.ndarray:
        """(width,) simulations that have raised or warned since their last reset."""
        ...


def refuse_unsupported(config: EngineConfig, twin: Twin, randomization: Mapping[str, Distribution]) -> None:
    """Raise if the engine cannot simulate this twin, or not under these draws. The CPU engine can do everything."""
    if config.backend == "warp":
        from twinloop.simulate import warp_support

        warp_support.refuse_unsupported(twin, randomization)


def make_engine(config: EngineConfig, model: mujoco.MjModel, *, width: int, threads: int = 1) -> Engine:
    if config.backend == "warp":
        # A second of imports, and a package that not everybody has.
        from twinloop.simulate.warp_support import load_warp

        load_warp()
        from twinloop.simulate.warp_engine import WarpEngine

        return WarpEngine(model, width=width, device=config.device)
    from twinloop.simulate.cpu_engine import CpuEngine

    return CpuEngine(model, width=width, threads=threads)

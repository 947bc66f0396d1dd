"""Chunks: the action chunks of every slot, for this control period and the following ones.

An evaluation has many simulation slots, a robot has one. Both use this code.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ActingConfig:
    """How action chunks are executed.

    Attributes:
        ensemble: None executes the first `executed` actions of each chunk. A number m runs inference in every period
            and averages the actions of all chunks for it, weighted by exp(-m · age in periods); 0 is the plain mean.
    """

    ensemble: float | None = None


class Chunks:
    """The chunks of `width` slots.

    Args:
        horizon: actions in a chunk, of `actions` elements each.
        executed: actions that are executed before the next inference.
    """

    def __init__(self, config: ActingConfig, *, width: int, horizon: int, executed: int, actions: int):
        self._keep = 0.0 if config.ensemble is None else float(np.exp(-config.ensemble))
        self._executed = executed if config.ensemble is None else 1
        self._left = np.zeros(width, int)
        # Weighted sums of the actions for this period and the following ones, and the sums of the weights.
        self._sum = np.zeros((width, horizon, actions))
        self._weight = np.zeros((width, horizon, 1))

    @property
    def shape(self) -> tuple[int, int]:
        """(horizon, actions) of a chunk."""
        _, horizon, actions = self._sum.shape
        return horizon, actions

    def begin(self, ids: np.ndarray) -> None:
        self._left[ids] = 0
        self._sum[ids] = self._weight[ids] = 0

    def due(self, running: np.ndarray) -> np.ndarray:
        """Return the slots that need a new chunk in this period."""
        return np.flatnonzero(running & (self._left == 0))

    def add(self, ids: np.ndarray, chunks: np.ndarray) -> None:
        """Add a new (horizon, actions) chunk for each of these slots, starting at this period."""
        # Actions with NaN or infinity are ignored.
        finite = np.isfinite(chunks).all(axis=2, keepdims=True)
        self._sum[ids] = self._sum[ids] * self._keep + np.where(finite, chunks, 0)
        self._weight[ids] = self._weight[ids] * self._keep + finite
        self._left[ids] = self._executed

    def advance(self, running: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return (width, actions) the actions of this period and move to the next. `held` replaces missing ones."""
        weight = self._weight[:, 0]
        wanted = np.where(weight > 0, self._sum[:, 0] / np.where(weight > 0, weight, 1), held)
        self._left -= running
        for ahead in (self._sum, self._weight):
            ahead[:, :-1] = ahead[:, 1:]
            ahead[:, -1] = 0
        return wanted

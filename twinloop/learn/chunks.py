"""Chunks: what a policy has said of this control period and those to come, for every slot. One in each simulation slot
of an evaluation, one alone on a robot: both act by the same sums."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ActingConfig:
    """ensemble: None carries out each chunk's first `executed` actions. A number m asks for a chunk in every period and
    averages what all chunks say of this one, weighted by exp(-m · age in periods): 0 is the plain mean."""

    ensemble: float | None = None


class Chunks:
    """horizon: actions in a chunk, of `actions` elements each. executed: carried out before the next is asked for."""

    def __init__(self, config: ActingConfig, *, width: int, horizon: int, executed: int, actions: int):
        self._keep = 0.0 if config.ensemble is None else float(np.exp(-config.ensemble))
        self._executed = executed if config.ensemble is None else 1
        self._left = np.zeros(width, int)
        # What chunks say of this period and those to come, summed, and the weights that went into the sum.
        self._sum = np.zeros((width, horizon, actions))
        self._weight = np.zeros((width, horizon, 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Of a chunk."""
        _, horizon, actions = self._sum.shape
        return horizon, actions

    def begin(self, ids: np.ndarray) -> None:
        self._left[ids] = 0
        self._sum[ids] = self._weight[ids] = 0

    def due(self, running: np.ndarray) -> np.ndarray:
        """The slots that need a new chunk in this period."""
        return np.flatnonzero(running & (self._left == 0))

    def add(self, ids: np.ndarray, chunks: np.ndarray) -> None:
        """A new (horizon, actions) chunk for each of these slots, from this period on."""
        # What is not a number is no command.
        said = np.isfinite(chunks).all(axis=2, keepdims=True)
        self._sum[ids] = self._sum[ids] * self._keep + np.where(said, chunks, 0)
        self._weight[ids] = self._weight[ids] * self._keep + said
        self._left[ids] = self._executed

    def advance(self, running: np.ndarray, held: np.ndarray) -> np.ndarray:
        """(width, actions) what is to be done in this period, which is then past; `held` where nothing is said."""
        weight = self._weight[:, 0]
        wanted = np.where(weight > 0, self._sum[:, 0] / np.where(weight > 0, weight, 1), held)
        self._left -= running
        for ahead in (self._sum, self._weight):
            ahead[:, :-1] = ahead[:, 1:]
            ahead[:, -1] = 0
        return wanted

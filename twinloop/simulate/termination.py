"""TerminationRule: ends a policy's episode after lasting success, a fallen thing or a timeout."""

import numpy as np

from twinloop.twin.scene import Scene
from twinloop.twin.twin import Twin

FALLEN_M = 0.05  # below the table's surface
SETTLED_S = 0.4  # success must last this long


def fallen(cell: Scene, twin: Twin) -> np.ndarray:
    """(width,) whether a thing has fallen off the table."""
    lowest = cell.table_height_m - FALLEN_M
    return np.logical_or.reduce([cell.position(index.name)[:, 2] < lowest for index in twin.things])


class TerminationRule:
    """An episode is over when success has lasted for `SETTLED_S`, when a thing has fallen, or at the timeout."""

    def __init__(self, twin: Twin, *, width: int):
        self.twin = twin
        self._periods = max(1, round(SETTLED_S * twin.control_hz))
        self._tick = np.zeros(width, int)
        self._achieved = np.zeros(width, int)

    def begin(self, ids: np.ndarray) -> None:
        self._tick[ids] = 0
        self._achieved[ids] = 0

    def look(self, cell: Scene, achieved: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (over, lost), each (width,). Call once per control period.

        Args:
            achieved: (width,) whether the task is done. By default, the task judges the scene.
        """
        success = self.twin.task.succeeded(cell) if achieved is None else achieved
        self._achieved = np.where(success, self._achieved + 1, 0)
        down, late = fallen(cell, self.twin), self._tick >= self.twin.longest_ticks
        # Success in the last period counts, as it does in a rollout.
        lost = down | (late & ~success)
        # One period more, because the first one is where the success begins.
        over = (self._achieved > self._periods) | down | late
        self._tick += 1
        return over, lost

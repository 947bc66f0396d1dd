"""TerminationRule: when a policy's episode is over: lasting success, object fallen, or timeout."""

import numpy as np

from twinloop.twin.task import Scene
from twinloop.twin.twin import Twin

FALLEN_M = 0.05  # below the table's surface
SETTLED_S = 0.4  # what was achieved must last this long


def fallen(cell: Scene) -> np.ndarray:
    """(width,) the object is off the table, for good."""
    return cell.object_position[:, 2] < cell.table_height_m - FALLEN_M


class TerminationRule:
    """An episode is over when its success has lasted, when the object has fallen, or when its time is up."""

    def __init__(self, twin: Twin, *, width: int):
        self.twin = twin
        self._periods = max(1, round(SETTLED_S * twin.control_hz))
        self._tick = np.zeros(width, int)
        self._achieved = np.zeros(width, int)

    def begin(self, ids: np.ndarray) -> None:
        self._tick[ids] = 0
        self._achieved[ids] = 0

    def look(self, cell: Scene) -> tuple[np.ndarray, np.ndarray]:
        """(over, lost) of every slot in this control period. To be called once in each."""
        success = self.twin.task.success(cell)
        self._achieved = np.where(success, self._achieved + 1, 0)
        down, late = fallen(cell), self._tick >= self.twin.longest_ticks
        # Success in the last moment counts: that is how a rollout judges.
        lost = down | (late & ~success)
        # One period more than it must last: the first is the beginning of it.
        over = (self._achieved > self._periods) | down | late
        self._tick += 1
        return over, lost

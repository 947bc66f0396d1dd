"""Force: a robot that presses harder than it may backs off the way it came.

It is too much when the wrist measures more than the limit, or a joint of the arm carries all it may. Then the robot
goes back along its last commands for RETREAT_S, and stands there until the load is RELEASED again. If that takes longer
than PATIENCE_S, whoever runs the episode should end it.
"""

from collections import deque

import numpy as np

RETREAT_S = 0.4
RELEASED = 0.7
"""Of the limit: below it, work may go on."""
FULL = 0.98
"""Of what a joint may carry, counts as all."""
PATIENCE_S = 1.5


class BackOff:
    """arm_effort: limits of the joints whose effort tells of contact; a gripper's does not: it is meant to press."""

    def __init__(self, *, arm_effort: np.ndarray, force_n: float, period_s: float):
        self._arm_effort, self._force_n = arm_effort, force_n
        self._patience = round(PATIENCE_S / period_s)
        self._trail: deque[np.ndarray] = deque(maxlen=max(2, round(RETREAT_S / period_s)))
        self.begin()

    def begin(self) -> None:
        self._trail.clear()
        self._way_back: list[np.ndarray] | None = None
        self._periods = 0

    @property
    def hopeless(self) -> bool:
        """It has backed off, and the load is still there."""
        return self._periods > self._patience

    def look(self, effort: np.ndarray | None, force_n: float | None) -> bool:
        """Is it backing off in this period?"""
        load = self._load(effort, force_n)
        if self._way_back is None and not load < FULL:
            self._way_back, self._periods = list(self._trail)[:-1], 0
        elif self._way_back is not None and not self._way_back and load < RELEASED:
            self._way_back = None
            self._trail.clear()
        if self._way_back is not None:
            self._periods += 1
        return self._way_back is not None

    def back(self) -> np.ndarray | None:
        """The next command on the way back, or None at its end."""
        return self._way_back.pop() if self._way_back else None

    def sent(self, command: np.ndarray) -> None:
        if self._way_back is None:
            self._trail.append(command)

    def _load(self, effort: np.ndarray | None, force_n: float | None) -> float:
        """The largest share of a limit that is measured; not a number where a measurement is none."""
        shares = [0.0]
        if effort is not None:
            shares.append(float(np.max(np.abs(effort[: len(self._arm_effort)]) / self._arm_effort)))
        if force_n is not None:
            shares.append(force_n / self._force_n)
        return float(np.max(shares))

"""Force limit: a robot that presses too hard backs off along its last commands.

The load is too high when the wrist force, or the effort of the arm in two readings in a row, reaches the share FULL of
its limit. (A servo that catches up with a late command has full effort for a moment, without any contact.) The arm then
moves back along its last commands until the load is below the share RELEASED of the limit: for LEAST_S seconds at
least, and for TRAIL_S at most, because a policy may have pressed for some time before the load was full. If the load is
not released within PATIENCE_S, the episode should be ended. The gripper keeps its last command, because a thing that it
holds must not fall.
"""

from collections import deque

import numpy as np

LEAST_S, TRAIL_S = 0.4, 2.0
RELEASED = 0.7
"""Share of the limit below which the episode continues."""
FULL = 0.98
"""Share of the limit from which the load is too high."""
PATIENCE_S = 2.5


class BackOff:
    """Detects a load that is too high and gives the commands of the way back.

    Args:
        arm_effort: effort limits of the arm joints. The gripper is left out because it presses on purpose.
    """

    def __init__(self, *, arm_effort: np.ndarray, force_n: float, period_s: float):
        self._arm_effort, self._force_n = arm_effort, force_n
        self._patience, self._least = round(PATIENCE_S / period_s), round(LEAST_S / period_s)
        self._trail: deque[np.ndarray] = deque(maxlen=max(2, round(TRAIL_S / period_s)))
        self.begin()

    def begin(self) -> None:
        self._trail.clear()
        self._way_back: list[np.ndarray] | None = None
        self._periods, self._effort_before = 0, 0.0

    @property
    def hopeless(self) -> bool:
        """True if the load has not decreased within PATIENCE_S of backing off."""
        return self._periods > self._patience

    def look(self, effort: np.ndarray | None, force_n: float | None) -> bool:
        """Update with the measured load. Return True if the robot backs off in this period."""
        force = 0.0 if force_n is None else force_n / self._force_n
        effort_now = self._effort_share(effort)
        # NaN counts as too high, at once.
        lasting = np.minimum(effort_now, self._effort_before)
        self._effort_before = effort_now
        if self._way_back is None and not np.maximum(force, lasting) < FULL:
            self._way_back, self._periods = list(self._trail)[:-1], 0
        elif (
            self._way_back is not None and self._far_enough(self._way_back) and np.maximum(force, effort_now) < RELEASED
        ):
            self._way_back = None
            self._trail.clear()
        if self._way_back is not None:
            self._periods += 1
        return self._way_back is not None

    def back(self) -> np.ndarray | None:
        """Return the next command on the way back, or None at its end."""
        if not self._way_back:
            return None
        command = self._way_back.pop().copy()
        arm = len(self._arm_effort)
        command[arm:] = self._trail[-1][arm:]
        return command

    def sent(self, command: np.ndarray) -> None:
        if self._way_back is None:
            self._trail.append(command)

    def _far_enough(self, left: list[np.ndarray]) -> bool:
        """Whether the least way back is behind, with `left` still ahead."""
        return not left or len(self._trail) - len(left) > self._least

    def _effort_share(self, effort: np.ndarray | None) -> float:
        """The largest measured share of a joint's limit, or NaN if a measurement is NaN."""
        if effort is None:
            return 0.0
        return float(np.max(np.abs(effort[: len(self._arm_effort)]) / self._arm_effort))

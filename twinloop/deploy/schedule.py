"""Schedule: start times and deadlines of control periods.

The time of a robot in lockstep advances only with commands, so no period is missed and computing speed does not matter.
Other robots are commanded at fixed times of the wall clock, counted from the start of the episode; a late period does
not shift the following ones. A period is missed if its command is not sent before the next period begins. After more
than MAX_MISSED missed periods in a row the robot is stopped.
"""

import time
from typing import Protocol

from twinloop.deploy.operator_input import EpisodeStopped

MAX_MISSED = 1


class Schedule(Protocol):
    deadline_s: float
    """Time (time.monotonic) by which the command of this period must be sent."""

    def begin(self) -> None: ...

    def turn(self) -> int:
        """Wait for the next period. Return the number of missed periods."""
        ...


class Lockstep:
    """The schedule of a robot in lockstep. inference_timeout_s: timeout of the leader's action in one period."""

    def __init__(self, *, inference_timeout_s: float):
        self._inference_timeout_s = inference_timeout_s
        self.begin()

    def begin(self) -> None:
        self.deadline_s = time.monotonic() + self._inference_timeout_s

    def turn(self) -> int:
        self.begin()
        return 0


class Realtime:
    def __init__(self, *, period_s: float):
        self._period_s = period_s
        self.begin()

    def begin(self) -> None:
        self._began_s, self._period = time.monotonic(), 0
        self.deadline_s = self._began_s + self._period_s

    def turn(self) -> int:
        now_s = time.monotonic()
        due = self._period + 1
        missed = max(0, int((now_s - self._began_s) / self._period_s) - self._period)
        if not missed:
            time.sleep(max(0.0, self.deadline_s - now_s))
        self._period = max(due, self._period + missed)
        self.deadline_s = self._began_s + (self._period + 1) * self._period_s
        return missed


class Deadlines:
    """Counts the missed deadlines of one episode, in total and in a row."""

    def __init__(self) -> None:
        self.missed = 0
        self._in_a_row = 0

    def note(self, missed: int) -> None:
        self.missed += missed
        self._in_a_row = self._in_a_row + missed if missed else 0
        if self._in_a_row > MAX_MISSED:
            raise EpisodeStopped("deadline", f"{self._in_a_row} deadlines in a row were missed")

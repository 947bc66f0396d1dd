"""Schedule: when control periods begin, and whether they are kept.

A robot in lockstep has its own time: it passes when it is told to act, so no period is ever missed, and how fast this
computer is changes nothing. Any other is commanded at fixed moments of the clock on the wall, counted from the
beginning of the episode: a late period does not move those after it. A period whose command is not out when the next
one begins is missed; one is made up for, after MAX_MISSED in a row the robot is stopped.
"""

import time
from typing import Protocol

from twinloop.deploy.operator_input import EpisodeStopped

MAX_MISSED = 1


class Schedule(Protocol):
    deadline_s: float
    """On the clock of time.monotonic: when the command of this period must be out."""

    def begin(self) -> None: ...

    def turn(self) -> int:
        """Wait for the next period; how many were missed."""
        ...


class Lockstep:
    """patience_s: how long somebody may think who has all the time there is."""

    def __init__(self, *, patience_s: float):
        self._patience_s = patience_s
        self.begin()

    def begin(self) -> None:
        self.deadline_s = time.monotonic() + self._patience_s

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
    """Of one episode: how many were missed, and how many in a row."""

    def __init__(self) -> None:
        self.missed = 0
        self._in_a_row = 0

    def note(self, missed: int) -> None:
        self.missed += missed
        self._in_a_row = self._in_a_row + missed if missed else 0
        if self._in_a_row > MAX_MISSED:
            raise EpisodeStopped("deadline", f"{self._in_a_row} deadlines in a row were missed")

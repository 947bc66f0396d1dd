"""Freshness: is this reading a new one? A robot that goes on telling the same thing is not seen any more."""

from twinloop.deploy.operator_input import EpisodeStopped
from twinloop.deploy.robot import Reading

MAX_REPEATS = 1
"""A loop that is a little faster than the robot's sensors sees a reading twice. The next repetition is two periods old,
and the robot is stopped."""


class Freshness:
    """Of one episode. repeats: how many periods the newest reading has been the newest already."""

    def __init__(self) -> None:
        self._last: Reading | None = None
        self.repeats = 0

    def see(self, reading: Reading) -> None:
        last, self._last = self._last, reading
        new = last is None or (reading.sequence > last.sequence and reading.timestamp_s > last.timestamp_s)
        self.repeats = 0 if new else self.repeats + 1
        if self.repeats > MAX_REPEATS:
            raise EpisodeStopped("stale_reading", f"reading {reading.sequence} repeated for {self.repeats} periods")

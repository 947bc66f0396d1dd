"""Freshness: detects stale readings. The episode stops if the robot repeats the same reading."""

from twinloop.deploy.operator_input import EpisodeStopped
from twinloop.deploy.robot import Reading

MAX_REPEATS = 1
"""A control loop slightly faster than the sensors sees a reading twice. At the second repetition the reading is two
periods old, and the robot is stopped."""


class Freshness:
    """Checks the readings of one episode. repeats: number of periods for which the last reading has been repeated."""

    def __init__(self) -> None:
        self._last: Reading | None = None
        self.repeats = 0

    def see(self, reading: Reading) -> None:
        last, self._last = self._last, reading
        new = last is None or (reading.sequence > last.sequence and reading.timestamp_s > last.timestamp_s)
        self.repeats = 0 if new else self.repeats + 1
        if self.repeats > MAX_REPEATS:
            raise EpisodeStopped("stale_reading", f"reading {reading.sequence} repeated for {self.repeats} periods")

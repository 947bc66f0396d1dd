"""ReadingCheck: checks that a robot's readings are valid, so that no action is computed from an invalid one."""

import numpy as np

from twinloop.deploy.robot import Description, Reading
from twinloop.errors import RobotError

MAX_PERIODS = 25
"""Largest time between two readings, in control periods. A longer time means that the robot's clock jumped."""


class ReadingCheck:
    """Checks the readings of one episode in order."""

    def __init__(self, description: Description):
        self._description = description
        self._last: Reading | None = None

    def see(self, reading: Reading) -> Reading:
        """Return the reading. Raise RobotError if its features, timestamp or order are invalid."""
        self._shapes(reading)
        if self._last is not None:
            self._order(self._last, reading)
        self._last = reading
        return reading

    def _shapes(self, reading: Reading) -> None:
        about = self._description
        for feature in about.observed:
            values = reading.features.get(feature.name)
            if values is None:
                raise RobotError(f"{about.id}: reading {reading.sequence} has no {feature.name}")
            if values.shape != feature.shape:
                raise RobotError(
                    f"{about.id}: {feature.name} of reading {reading.sequence} has {_size(values.shape)} elements; "
                    f"{_size(feature.shape)} were expected: {', '.join(feature.names)}"
                )
            if not np.isfinite(values).all():
                first = int(np.flatnonzero(~np.isfinite(values))[0])
                bad = f"pixel {first}" if feature.is_picture else feature.names[first]
                raise RobotError(f"{about.id}: {feature.name} of reading {reading.sequence}: {bad} is not finite")
        if not np.isfinite(reading.timestamp_s):
            raise RobotError(f"{about.id}: reading {reading.sequence} has the timestamp {reading.timestamp_s}")

    def _order(self, last: Reading, reading: Reading) -> None:
        about, passed_s = self._description, reading.timestamp_s - last.timestamp_s
        if reading.sequence < last.sequence:
            raise RobotError(f"{about.id}: reading {reading.sequence} came after reading {last.sequence}")
        if passed_s < 0 or passed_s > MAX_PERIODS * about.period_s:
            raise RobotError(
                f"{about.id}: its clock jumped by {passed_s:+.3f} s between readings {last.sequence} and "
                f"{reading.sequence}; a control period is {about.period_s:.3f} s"
            )


def _size(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))

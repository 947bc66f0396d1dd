"""shaky: the twin as a live robot, with noise on every joint command. Named as `--robot shaky` or `shaky:CELL.yaml`.

A driver for hardware implements the same methods: connect, describe, begin, observe, act, stop, end and close;
see `twinloop.LiveRobot`.
"""

import numpy as np

import twinloop as tl
from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.deploy.twin_robot import TwinRobot

NOISE_RAD = 0.002


class ShakyTwin(tl.LiveRobot):
    def __init__(self, config: str = ""):
        """config: what follows the colon in `--robot shaky:CONFIG`, or nothing."""
        self._twin = TwinRobot(config)

    def connect(self) -> Description:
        return self._twin.connect()

    def describe(self) -> Description:
        return self._twin.describe()

    def begin(self, episode: int) -> Briefing:
        self._rng = np.random.default_rng(episode)
        return self._twin.begin(episode)

    def observe(self) -> Reading:
        return self._twin.observe()

    def act(self, action: np.ndarray) -> None:
        action = np.array(action, float)
        action[:-1] += self._rng.normal(0.0, NOISE_RAD, len(action) - 1)
        self._twin.act(action)

    def stop(self) -> None:
        self._twin.stop()

    def end(self) -> Outcome:
        return self._twin.end()

    def close(self) -> None:
        self._twin.close()

"""MobileEpisode: what episodes of robots with legs and with wheels have in common, and traits of the delay of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from twinloop.signals.delay import DelayEstimate, estimate_delay

NAN = float("nan")


class RobotModel(Protocol):
    """The nominal robot of an episode."""

    @property
    def period_s(self) -> float: ...


@dataclass(frozen=True)
class MobileEpisode:
    """One episode of a robot with legs or wheels.

    Attributes:
        frames: features of the episode; `command` is what was sent to the robot, where it differs from `action`.
    """

    frames: Mapping[str, np.ndarray]
    success: bool
    robot: RobotModel

    @property
    def rows(self) -> int:
        return len(self.frames["action"])

    @property
    def period_s(self) -> float:
        return self.robot.period_s

    def first(self, seconds: float) -> Self:
        """The beginning of the episode."""
        last = max(1, round(seconds / self.period_s))
        return replace(self, frames={name: values[:last] for name, values in self.frames.items()})

    @property
    def sent(self) -> np.ndarray:
        """(n, actions) what was sent to the robot."""
        return np.asarray(self.frames.get("command", self.frames["action"]), float)

    @cached_property
    def delay(self) -> DelayEstimate | None:
        """How the robot is behind its commands; None if the episode is too short."""
        most = min(self._longest_delay, self.rows // 3)
        return None if most < 2 else estimate_delay(self._pairs(), shifts=range(most + 1), fit_gain=True)

    @property
    def _longest_delay(self) -> int:
        """The largest delay that is considered, in control periods."""
        raise NotImplementedError

    def _pairs(self) -> Sequence[tuple[np.ndarray, np.ndarray]]:
        """What was commanded, and what was measured of it."""
        raise NotImplementedError


def delay_ms(episode: MobileEpisode) -> float:
    return NAN if episode.delay is None else 1000 * episode.period_s * episode.delay.rows


def gain(episode: MobileEpisode) -> float:
    """Measured motion per commanded motion."""
    return NAN if episode.delay is None else episode.delay.gain


def error_thousandths(episode: MobileEpisode) -> float:
    """What a delay and a gain do not explain, in thousandths of the unit: mrad of joints, mm/s of a base."""
    return NAN if episode.delay is None else 1000 * episode.delay.rms

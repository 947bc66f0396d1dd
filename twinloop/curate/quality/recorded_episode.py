"""RecordedEpisode: one recorded episode as the quality checks read it: named channels, clock, frame counts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from twinloop.curate.quality.finding import QualityFinding

ACTION, SENT, STATE = "action", "command", "observation.state"
HANDS = ("grip", "finger", "jaw", "hand", "thumb", "pinky")
"""Parts of names of channels that a held object may stop, however far they are commanded."""
FINGERS = ("index", "middle", "ring", "little", "palm")
"""Whole words with the same meaning: `left_ring_1`, `middle1_right`."""


@dataclass(frozen=True)
class FilmFacts:
    """Result of decoding a video.

    Attributes:
        frames: number of decoded frames.
        rate_hz: rate by the file's own clock, 0 if it has none.
        held: [first, last] frame of the longest run of identical images.
        problem: why the rest could not be decoded.
        stored: the camera is part of the dataset. A video of a camera that is left out cannot reject an episode.
    """

    frames: int
    rate_hz: float = 0.0
    held: tuple[int, int] = (0, 0)
    problem: str = ""
    stored: bool = True


@dataclass(frozen=True)
class RecordedChannel:
    """One element of a feature, over the episode: (rows,) float64."""

    feature: str
    index: int
    name: str
    unit: str
    values: np.ndarray

    @property
    def is_hand(self) -> bool:
        name = self.name.rpartition("/")[2].lower()
        words = re.split(r"[^a-z]+", name)
        return any(part in name for part in HANDS) or not set(words).isdisjoint(FINGERS)


@dataclass(frozen=True)
class CommandedChannel:
    """The command of a joint and its reading. powered: (rows,) whether its motor is on, None if it always is."""

    command: RecordedChannel
    measured: RecordedChannel
    powered: np.ndarray | None = None

    @property
    def while_powered(self) -> tuple[np.ndarray, np.ndarray]:
        """(commands, readings), with NaN readings while the motor is off."""
        command, measured = self.command.values, self.measured.values
        return command, measured if self.powered is None else np.where(self.powered, measured, np.nan)

    def aligned(self, delay_rows: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(commands, readings `delay_rows` later), without the rows in which the motor is off."""
        rows = len(self.measured.values) - delay_rows
        command, measured = self.command.values[:rows], self.measured.values[delay_rows:]
        if self.powered is None:
            return command, measured
        return command[self.powered[delay_rows:]], measured[self.powered[delay_rows:]]


@dataclass(frozen=True)
class RecordedEpisode:
    """One recorded episode.

    Attributes:
        signals: feature -> (rows, d) measured or commanded numbers, without counters and flags.
        names, units: feature -> d names and d units.
        time_s: (rows,) recorded clock, None if rows are evenly spaced by declaration.
        limits: channel or element name -> (low, high), if known; infinite for a joint without end stops.
        films: camera -> result of decoding its video.
        complaints: findings from reading the file.
        rate_declared: rate_hz was declared; False if it was estimated from the clock.
        powered: (rows,) whether the motors are on; None if they always are.
    """

    attempt: int
    label: str
    rate_hz: float
    rows: int
    time_s: np.ndarray | None
    signals: Mapping[str, np.ndarray]
    names: Mapping[str, tuple[str, ...]]
    units: Mapping[str, tuple[str, ...]]
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    films: Mapping[str, FilmFacts] = field(default_factory=dict)
    complaints: tuple[QualityFinding, ...] = ()
    rate_declared: bool = True
    powered: np.ndarray | None = None

    @cached_property
    def channels(self) -> tuple[RecordedChannel, ...]:
        return tuple(self._channels())

    def _channels(self) -> Iterator[RecordedChannel]:
        for feature, values in self.signals.items():
            for index in range(values.shape[1]):
                name = f"{feature}/{self.names[feature][index]}" if self.names[feature] else f"{feature}[{index}]"
                if values.shape[1] == 1 and not self.names[feature]:
                    name = feature
                yield RecordedChannel(feature, index, name, self.units[feature][index], values[:, index])

    @cached_property
    def pairs(self) -> tuple[CommandedChannel, ...]:
        """Actions and readings of the same joints, matched by name, or by position if names are missing."""
        return self._paired(ACTION)

    @cached_property
    def sent_pairs(self) -> tuple[CommandedChannel, ...]:
        """The same with the commands sent to the motors, if they were recorded besides the actions."""
        return self._paired(SENT if SENT in self.signals else ACTION)

    def _paired(self, feature: str) -> tuple[CommandedChannel, ...]:
        if feature not in self.signals or STATE not in self.signals:
            return ()
        commands = [channel for channel in self.channels if channel.feature == feature]
        readings = [channel for channel in self.channels if channel.feature == STATE]
        if self.names[feature] and self.names[STATE]:
            by_name = {self.names[STATE][reading.index]: reading for reading in readings}
            pairs = [(command, by_name.get(self.names[feature][command.index])) for command in commands]
        else:
            pairs = list(zip(commands, readings, strict=True)) if len(commands) == len(readings) else []
        return tuple(
            CommandedChannel(command, measured, self.powered)
            for command, measured in pairs
            if measured is not None and (command.unit == measured.unit or not command.unit or not measured.unit)
        )

    def limit_of(self, channel: RecordedChannel) -> tuple[float, float] | None:
        element = channel.name.removeprefix(f"{channel.feature}/")
        return self.limits.get(channel.name, self.limits.get(element))

    @property
    def seconds(self) -> np.ndarray:
        return self.time_s if self.time_s is not None else np.arange(self.rows) / self.rate_hz

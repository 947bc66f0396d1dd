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
    """What decoding a video showed.

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
    """What a channel was told, and what it measured."""

    command: RecordedChannel
    measured: RecordedChannel


@dataclass(frozen=True)
class RecordedEpisode:
    """signals: feature -> (rows, d), numbers that vary; counters and flags are left out.
    names: feature -> d names. units: feature -> d units.
    time_s: (rows,) the recorded clock, None where rows are evenly spaced by declaration.
    limits: channel or element name -> (low, high), where known. films: camera -> what decoding found.
    complaints: of whoever read the file.
    rate_declared: whether rate_hz was declared; False if it was estimated from the clock.
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
        """Actions and measurements of the same joints: by name, by place where neither side has names."""
        return self._paired(ACTION)

    @cached_property
    def sent_pairs(self) -> tuple[CommandedChannel, ...]:
        """The same with what was sent to the motors, where that was recorded beside what was meant."""
        return self._paired(SENT if SENT in self.signals else ACTION)

    def _paired(self, feature: str) -> tuple[CommandedChannel, ...]:
        if feature not in self.signals or STATE not in self.signals:
            return ()
        told = [each for each in self.channels if each.feature == feature]
        seen = [each for each in self.channels if each.feature == STATE]
        if self.names[feature] and self.names[STATE]:
            by_name = {self.names[STATE][each.index]: each for each in seen}
            found = [(each, by_name.get(self.names[feature][each.index])) for each in told]
        else:
            found = list(zip(told, seen, strict=True)) if len(told) == len(seen) else []
        return tuple(
            CommandedChannel(command, measured)
            for command, measured in found
            if measured is not None and (command.unit == measured.unit or not command.unit or not measured.unit)
        )

    def limit_of(self, channel: RecordedChannel) -> tuple[float, float] | None:
        element = channel.name.removeprefix(f"{channel.feature}/")
        return self.limits.get(channel.name, self.limits.get(element))

    @property
    def seconds(self) -> np.ndarray:
        return self.time_s if self.time_s is not None else np.arange(self.rows) / self.rate_hz

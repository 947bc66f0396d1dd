"""DatasetStatistics: statistics of all episodes, with which the checks compare a single episode.

The first pass over the data computes EpisodeStatistics; the checks run in the second pass.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.curate.quality.following import moving_delays
from twinloop.curate.quality.holds import holds_of, largest_step, quantum, response_rows
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import between, correlation, held, quantile, span, usable

MOVES = 1e-9
MOVES_QUANTA = 10
MIN_ROWS = 10


@dataclass(frozen=True)
class EpisodeStatistics:
    """A few numbers per channel of one episode.

    Attributes:
        size: 90 % quantile of the magnitude.
        span: distance between the 1 % and 99 % quantiles.
        low, high: smallest and largest value.
        largest_step: largest change between two rows.
        longest_hold: share of the rows in the longest stretch of one repeated value.
        held_excursion, held_swing: how far the command moved while the reading repeated one value (see `Hold`).
        follows: command channel -> correlation with the reading, where both move.
        delay_rows: reading -> delay behind its command, where it follows.
        fingerprint: digest of all numbers in single precision.
    """

    attempt: int
    rows: int
    size: Mapping[str, float]
    span: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    largest_step: Mapping[str, float]
    longest_hold: Mapping[str, float]
    held_excursion: Mapping[str, float]
    held_swing: Mapping[str, float]
    follows: Mapping[str, float]
    delay_rows: Mapping[str, float]
    fingerprint: str

    @classmethod
    def of(cls, episode: RecordedEpisode) -> "EpisodeStatistics":
        finite = {
            channel.name: channel.values
            for channel in episode.channels
            if episode.rows and usable(channel.values).all()
        }
        pairs = [
            pair
            for pair in episode.pairs
            if {pair.command.name, pair.measured.name} <= finite.keys() and episode.rows >= MIN_ROWS
        ]
        moving = [pair for pair in pairs if _moves(pair.command.values) and _moves(pair.measured.values)]
        delays = moving_delays(episode)
        response = response_rows(delay.rows for delay in delays.values())
        holds = {pair.measured.name: holds_of(pair, response) for pair in pairs}
        return cls(
            attempt=episode.attempt,
            rows=episode.rows,
            size={name: quantile(np.abs(values), 0.9) for name, values in finite.items()},
            span={name: span(values) for name, values in finite.items()},
            low={name: float(values.min()) for name, values in finite.items()},
            high={name: float(values.max()) for name, values in finite.items()},
            largest_step={name: largest_step(values) for name, values in finite.items()},
            longest_hold={name: _longest_hold(values) for name, values in finite.items()},
            held_excursion={name: max((hold.excursion for hold in some), default=0.0) for name, some in holds.items()},
            held_swing={name: max((hold.swing for hold in some), default=0.0) for name, some in holds.items()},
            follows={pair.command.name: correlation(*pair.aligned()) for pair in moving},
            delay_rows={name: delay.rows for name, delay in delays.items()},
            fingerprint=fingerprint(episode),
        )


def _moves(values: np.ndarray) -> bool:
    """Does the signal move by more than the flicker of an encoder?"""
    return span(values) > max(MOVES, MOVES_QUANTA * quantum(values))


def _longest_hold(values: np.ndarray) -> float:
    stretches = held(values)
    return float((stretches[:, 1] - stretches[:, 0]).max(initial=1)) / len(values)


@np.errstate(over="ignore")  # garbage beyond single precision becomes infinite, which is good enough here
def fingerprint(episode: RecordedEpisode) -> str:
    """Digest of all numbers in single precision."""
    digest = hashlib.sha256()
    for name in sorted(episode.signals):
        digest.update(name.encode() + np.ascontiguousarray(episode.signals[name], np.float32).tobytes())
    return digest.hexdigest() if episode.rows else ""


@dataclass(frozen=True)
class DatasetStatistics:
    """The statistics of all episodes of a dataset."""

    summaries: tuple[EpisodeStatistics, ...]

    @classmethod
    def of(cls, summaries: Iterable[EpisodeStatistics]) -> "DatasetStatistics":
        return cls(tuple(summaries))

    def others(self, attempt: int) -> int:
        """Number of other episodes that are long enough to compare with."""
        return sum(episode.attempt != attempt and episode.rows >= MIN_ROWS for episode in self.summaries)

    def known(self, what: str, channel: str, attempt: int) -> np.ndarray:
        """One statistic of a channel (`size`, `span`, ...) in all other episodes that have the channel."""
        column = self._column(what, channel)
        return column.values[column.attempts != attempt]

    def typical(self, what: str, channel: str, attempt: int) -> float:
        """Median of that statistic over the other episodes; NaN if there are none."""
        column = self._column(what, channel)
        count = column.others(attempt)
        if not count:
            return float("nan")
        return (column.at((count - 1) // 2, attempt) + column.at(count // 2, attempt)) / 2

    def high_end(self, what: str, channel: str, attempt: int) -> float:
        """90 % quantile of that statistic over the other episodes; 0 if there are none."""
        column = self._column(what, channel)
        last = column.others(attempt) - 1
        if last < 0:
            return 0.0
        place = 0.9 * last
        low = int(place)
        return between(column.at(low, attempt), column.at(min(low + 1, last), attempt), place - low)

    def _column(self, what: str, channel: str) -> "_Column":
        if (what, channel) not in self._columns:
            episodes = [
                summary for summary in self.summaries if summary.rows >= MIN_ROWS and channel in getattr(summary, what)
            ]
            values = [float(getattr(episode, what)[channel]) for episode in episodes]
            self._columns[what, channel] = _Column.of(values, [episode.attempt for episode in episodes])
        return self._columns[what, channel]

    @cached_property
    def _columns(self) -> "dict[tuple[str, str], _Column]":
        """Cache of `_column`."""
        return {}

    @cached_property
    def commands_are_positions(self) -> bool:
        """Do readings follow commands? They do not if commands are velocities or differences."""
        correlations = [abs(value) for episode in self.summaries for value in episode.follows.values()]
        return bool(correlations) and float(np.median(correlations)) > 0.7

    @cached_property
    def usual_delay_rows(self) -> int:
        """Median delay between command and reading over all joints and episodes; 0 if none follows."""
        rows = self._delays
        return max(round(float(np.median(rows))), 0) if rows else 0

    @cached_property
    def response_rows(self) -> int:
        """Rows within which joints respond. A frozen reading in one episode does not change it."""
        return response_rows(self._delays)

    @property
    def _delays(self) -> list[float]:
        return [rows for episode in self.summaries for rows in episode.delay_rows.values()]

    @cached_property
    def first_with(self) -> Mapping[str, int]:
        """Fingerprint -> the first attempt that has it."""
        first: dict[str, int] = {}
        for episode in self.summaries:
            first.setdefault(episode.fingerprint, episode.attempt)
        return first


@dataclass(frozen=True)
class _Column:
    """One statistic of a channel in all episodes. It is ordered once, not once for each episode that is left out.

    Attributes:
        attempts, values: of all episodes.
        ordered: the values in increasing order.
        places: attempt -> place of its value in this order.
    """

    attempts: np.ndarray
    values: np.ndarray
    ordered: np.ndarray
    places: Mapping[int, int]

    @classmethod
    def of(cls, values: Sequence[float], attempts: Sequence[int]) -> "_Column":
        order = np.argsort(values, kind="stable")
        column = np.array(values, np.float64)
        places = {attempts[episode]: place for place, episode in enumerate(order)}
        return cls(np.array(attempts, np.int64), column, column[order], places)

    def others(self, attempt: int) -> int:
        return len(self.values) - (attempt in self.places)

    def at(self, place: int, attempt: int) -> float:
        """The value at a place of the order without this attempt."""
        left_out = self.places.get(attempt)
        return float(self.ordered[place if left_out is None or place < left_out else place + 1])

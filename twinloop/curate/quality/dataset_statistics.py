"""DatasetStatistics: what the episodes of a dataset have in common, against which one of them may stand out.

A first reading of every episode leaves a summary of a few numbers; the checks of the second see all of these.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.curate.quality.holds import holds_of, largest_step, quantum, response_rows
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import correlation, held, span, usable

MOVES = 1e-9
MOVES_QUANTA = 10
LEAST_ROWS = 10


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
            if {pair.command.name, pair.measured.name} <= finite.keys() and episode.rows >= LEAST_ROWS
        ]
        moving = [pair for pair in pairs if _moves(pair.command.values) and _moves(pair.measured.values)]
        response = response_rows(episode)
        holds = {pair.measured.name: holds_of(pair, response) for pair in pairs}
        return cls(
            attempt=episode.attempt,
            rows=episode.rows,
            size={name: float(np.quantile(np.abs(values), 0.9)) for name, values in finite.items()},
            span={name: span(values) for name, values in finite.items()},
            low={name: float(values.min()) for name, values in finite.items()},
            high={name: float(values.max()) for name, values in finite.items()},
            largest_step={name: largest_step(values) for name, values in finite.items()},
            longest_hold={name: _longest_hold(values) for name, values in finite.items()},
            held_excursion={name: max((hold.excursion for hold in some), default=0.0) for name, some in holds.items()},
            held_swing={name: max((hold.swing for hold in some), default=0.0) for name, some in holds.items()},
            follows={pair.command.name: correlation(pair.command.values, pair.measured.values) for pair in moving},
            fingerprint=fingerprint(episode),
        )


def _moves(values: np.ndarray) -> bool:
    """By more than the flicker of an encoder?"""
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
    summaries: tuple[EpisodeStatistics, ...]

    @classmethod
    def of(cls, summaries: Iterable[EpisodeStatistics]) -> "DatasetStatistics":
        return cls(tuple(summaries))

    def others(self, attempt: int) -> int:
        """How many other episodes there are that are long enough to say something."""
        return sum(each.attempt != attempt and each.rows >= LEAST_ROWS for each in self.summaries)

    def known(self, what: str, channel: str, attempt: int) -> np.ndarray:
        """`size`, `span`, `low` or `high` of a channel in every other episode that has it."""
        attempts, values = self._column(what, channel)
        return values[attempts != attempt]

    def typical(self, what: str, channel: str, attempt: int) -> float:
        """The median of those; NaN where nobody knows."""
        values = self.known(what, channel, attempt)
        return float(np.median(values)) if len(values) else float("nan")

    def _column(self, what: str, channel: str) -> tuple[np.ndarray, np.ndarray]:
        if (what, channel) not in self._columns:
            having = [each for each in self.summaries if each.rows >= LEAST_ROWS and channel in getattr(each, what)]
            values = np.array([getattr(each, what)[channel] for each in having], np.float64)
            self._columns[what, channel] = np.array([each.attempt for each in having], np.int64), values
        return self._columns[what, channel]

    @cached_property
    def _columns(self) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
        """Those that were asked for: every check of every episode asks for the same few."""
        return {}

    def high_end(self, what: str, channel: str, attempt: int) -> float:
        """A large but ordinary value in the other episodes: their 90 % quantile; 0 where there are none."""
        values = self.known(what, channel, attempt)
        return float(np.quantile(values, 0.9)) if len(values) else 0.0

    @cached_property
    def commands_are_positions(self) -> bool:
        """Do measurements follow commands? Of velocities or differences they do not, and no pair says anything."""
        known = [abs(value) for each in self.summaries for value in each.follows.values()]
        return bool(known) and float(np.median(known)) > 0.7

    @cached_property
    def first_with(self) -> Mapping[str, int]:
        """Fingerprint -> the first attempt that has it."""
        first: dict[str, int] = {}
        for each in self.summaries:
            first.setdefault(each.fingerprint, each.attempt)
        return first

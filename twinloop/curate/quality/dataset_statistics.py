"""DatasetStatistics: what the episodes of a dataset have in common, against which one of them may stand out.

A first reading of every episode leaves a summary of a few numbers; the checks of the second see all of these.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import correlation, span

MOVES = 1e-9
LEAST_ROWS = 10


@dataclass(frozen=True)
class EpisodeStatistics:
    """Of one episode. size: channel -> 90 % quantile of its magnitude. span, low, high: channel -> its spread and
    ends. follows: channel of a command -> its correlation with what was measured, where both move."""

    attempt: int
    rows: int
    size: Mapping[str, float]
    span: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    follows: Mapping[str, float]
    fingerprint: str

    @classmethod
    def of(cls, take: RecordedEpisode) -> "EpisodeStatistics":
        whole = {each.name: each.values for each in take.channels if take.rows and np.isfinite(each.values).all()}
        moving = [
            pair
            for pair in take.pairs
            if {pair.command.name, pair.measured.name} <= whole.keys() and take.rows >= LEAST_ROWS
            if span(pair.command.values) > MOVES and span(pair.measured.values) > MOVES
        ]
        return cls(
            attempt=take.attempt,
            rows=take.rows,
            size={name: float(np.quantile(np.abs(values), 0.9)) for name, values in whole.items()},
            span={name: span(values) for name, values in whole.items()},
            low={name: float(values.min()) for name, values in whole.items()},
            high={name: float(values.max()) for name, values in whole.items()},
            follows={pair.command.name: correlation(pair.command.values, pair.measured.values) for pair in moving},
            fingerprint=fingerprint(take),
        )


def fingerprint(take: RecordedEpisode) -> str:
    """The same for the same numbers, to single precision."""
    digest = hashlib.sha256()
    for name in sorted(take.signals):
        digest.update(name.encode() + np.ascontiguousarray(take.signals[name], np.float32).tobytes())
    return digest.hexdigest() if take.rows else ""


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

"""QualityCheck: a named check of one recording that returns findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import SupportsFloat, SupportsInt

from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding, Severity
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode

Find = Callable[[RecordedEpisode, DatasetStatistics, QualityConfig], Iterator[QualityFinding]]


@dataclass(frozen=True)
class QualityCheck:
    """A named check of a recording.

    Attributes:
        name: also the verdict of an episode that the check rejects.
        asks: the question it answers.
        find: returns the findings.
        finite: run it on episodes with finite values only.
        storable: rows with this error are stored.
        independent: report it even if an earlier check blamed the same channel. The other checks are silent then,
            because one fault often causes several symptoms.
    """

    name: str
    asks: str
    find: Find
    finite: bool = True
    storable: bool = True
    independent: bool = False

    def finding(
        self,
        channel: str,
        frames: tuple[SupportsInt, SupportsInt],
        measured: SupportsFloat,
        limit: SupportsFloat,
        unit: str,
        text: str,
        *,
        severity: Severity = "error",
    ) -> QualityFinding:
        first, last = int(frames[0]), int(frames[1])
        return QualityFinding(
            self.name, severity, channel, first, last, float(measured), float(limit), unit, text, self.storable
        )

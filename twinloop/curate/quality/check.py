"""Check: one question asked of a recording, answered with findings."""

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
    """name: also the verdict of an episode that it rejects. finite: is it asked of finite values only?"""

    name: str
    asks: str
    find: Find
    finite: bool = True
    storable: bool = True

    def finding(
        self,
        channel: str,
        frames: tuple[SupportsInt, SupportsInt],
        measured: SupportsFloat,
        limit: SupportsFloat,
        unit: str,
        said: str,
        *,
        severity: Severity = "error",
    ) -> QualityFinding:
        first, last = int(frames[0]), int(frames[1])
        return QualityFinding(
            self.name, severity, channel, first, last, float(measured), float(limit), unit, said, self.storable
        )

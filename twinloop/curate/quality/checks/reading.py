"""Can the file be read, and have all columns the same length and the expected width?"""

from collections.abc import Iterator

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def unreadable(
    episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig
) -> Iterator[QualityFinding]:
    yield from (finding for finding in episode.complaints if finding.check == TRUNCATED_FILE.name)


def ragged(
    episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig
) -> Iterator[QualityFinding]:
    yield from (finding for finding in episode.complaints if finding.check == RAGGED_COLUMNS.name)


TRUNCATED_FILE = QualityCheck(
    name="truncated_file",
    asks="can the episode's file be read to its end?",
    find=unreadable,
    finite=False,
    storable=False,
)
RAGGED_COLUMNS = QualityCheck(
    name="ragged_columns",
    asks="is every column there, with the expected length and width?",
    find=ragged,
    finite=False,
    storable=False,
)

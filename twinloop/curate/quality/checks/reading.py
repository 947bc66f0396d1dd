"""Could the file be read, and is every column as long and as wide as the others?"""

from collections.abc import Iterator

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def unreadable(take: RecordedEpisode, _crowd: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    yield from (each for each in take.complaints if each.check == TRUNCATED_FILE.name)


def ragged(take: RecordedEpisode, _crowd: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    yield from (each for each in take.complaints if each.check == RAGGED_COLUMNS.name)


TRUNCATED_FILE = QualityCheck(
    name="truncated_file",
    asks="can the episode's file be read to its end?",
    find=unreadable,
    finite=False,
    storable=False,
)
RAGGED_COLUMNS = QualityCheck(
    name="ragged_columns",
    asks="is every column there, and as long and as wide as the others say?",
    find=ragged,
    finite=False,
    storable=False,
)

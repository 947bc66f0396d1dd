"""Is there enough to be an episode?"""

from collections.abc import Iterator

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def find(take: RecordedEpisode, _crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    lasted_s = take.rows / take.rate_hz
    if take.rows < config.shortest_rows or lasted_s < config.shortest_s:
        said = f"The episode has {take.rows} rows, {lasted_s:.2f} s: started and stopped at once."
        yield TOO_SHORT.finding("", (0, max(take.rows - 1, 0)), lasted_s, config.shortest_s, "s", said)


TOO_SHORT = QualityCheck(name="too_short", asks="is there enough to be an episode?", find=find, finite=False)

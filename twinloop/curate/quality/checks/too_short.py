"""Is the episode long enough?"""

from collections.abc import Iterator

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    duration_s = episode.rows / episode.rate_hz
    if episode.rows < config.shortest_rows or duration_s < config.shortest_s:
        text = f"The episode has {episode.rows} rows, {duration_s:.2f} s: too short to be an episode."
        yield TOO_SHORT.finding("", (0, max(episode.rows - 1, 0)), duration_s, config.shortest_s, "s", text)


TOO_SHORT = QualityCheck(name="too_short", asks="is the episode long enough?", find=find, finite=False)

"""Is this episode a copy of an earlier one?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics, fingerprint
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def find(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not any(np.ptp(channel.values) > 0 for channel in episode.channels):
        return
    first = statistics.first_with.get(fingerprint(episode), episode.attempt)
    if first != episode.attempt:
        text = f"All numbers equal those of attempt {first}: the same recording twice."
        yield DUPLICATE.finding("", (0, episode.rows - 1), 1, 0, "copies", text)


DUPLICATE = QualityCheck(name="duplicate", asks="is it a copy of an earlier episode?", find=find)

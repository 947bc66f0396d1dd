"""Was this episode recorded before?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics, fingerprint
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def find(take: RecordedEpisode, crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if take.rows < config.shortest_rows or not any(np.ptp(each.values) > 0 for each in take.channels):
        return
    first = crowd.first_with.get(fingerprint(take), take.attempt)
    if first != take.attempt:
        said = f"Every number is that of attempt {first}: the same recording twice."
        yield DUPLICATE.finding("", (0, take.rows - 1), 1, 0, "copies", said)


DUPLICATE = QualityCheck(name="duplicate", asks="is it a copy of an earlier episode?", find=find)

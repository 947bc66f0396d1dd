"""Is every number a number?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode


def find(take: RecordedEpisode, _crowd: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for channel in take.channels:
        bad = np.flatnonzero(~np.isfinite(channel.values))
        if len(bad):
            said = f"{channel.name} is NaN, infinite or missing in {len(bad)} of {take.rows} rows."
            yield NON_FINITE.finding(channel.name, (bad[0], bad[-1]), len(bad), 0, "rows", said)


NON_FINITE = QualityCheck(name="non_finite", asks="is every number finite?", find=find, finite=False, storable=False)

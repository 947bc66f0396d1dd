"""Is every value a finite number of a possible size?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import LARGEST, usable


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for channel in episode.channels:
        bad = np.flatnonzero(~usable(channel.values))
        if not len(bad):
            continue
        first = channel.values[bad[0]]
        problem = f"{first:.3g}, more than {LARGEST:g}" if np.isfinite(first) else "NaN, infinite or missing"
        text = f"{channel.name} is {problem}, in {len(bad)} of {episode.rows} rows (first: row {bad[0]})."
        yield NON_FINITE.finding(channel.name, (bad[0], bad[-1]), len(bad), 0, "rows", text)


NON_FINITE = QualityCheck(
    name="non_finite", asks="is every number finite and of a possible size?", find=find, finite=False, storable=False
)

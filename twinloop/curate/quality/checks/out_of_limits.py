"""Is a joint where it cannot be?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, RecordedEpisode
from twinloop.curate.quality.spans import runs

LASTS_ROWS = 2  # one row beyond is a spike, which has a check of its own


def find(take: RecordedEpisode, _crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    for channel in take.channels:
        limit = take.limit_of(channel)
        if limit is None:
            continue
        low, high = limit
        beyond = np.maximum(low - channel.values, channel.values - high)
        allowed = config.limit_share * (high - low)
        stretches = [each for each in runs(beyond > allowed) if each[1] - each[0] >= LASTS_ROWS]
        if not stretches:
            continue
        rows = sum(stop - start for start, stop in stretches)
        is_action = channel.feature == ACTION
        said = f"{channel.name} is beyond [{low:.4g}, {high:.4g}] by up to {beyond.max():.3g} in {rows} rows"
        said += "; commands may be, the robot stops before." if is_action else "."
        yield OUT_OF_LIMITS.finding(
            channel.name, (stretches[0][0], stretches[-1][1] - 1), beyond.max(), allowed, channel.unit, said,
            severity="note" if is_action else "error",
        )  # fmt: skip


OUT_OF_LIMITS = QualityCheck(name="out_of_limits", asks="is a joint beyond its range?", find=find)

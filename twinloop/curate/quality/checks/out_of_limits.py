"""Is a joint beyond its limits?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, RecordedEpisode
from twinloop.curate.quality.spans import runs

MIN_ROWS = 2  # one row beyond is a spike, which has its own check


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    for channel in episode.channels:
        limit = episode.limit_of(channel)
        if limit is None:
            continue
        low, high = limit
        beyond = np.maximum(low - channel.values, channel.values - high)
        allowed = config.limit_share * (high - low)
        stretches = [stretch for stretch in runs(beyond > allowed) if stretch[1] - stretch[0] >= MIN_ROWS]
        if not stretches:
            continue
        rows = sum(stop - start for start, stop in stretches)
        is_action = channel.feature == ACTION
        text = f"{channel.name} is beyond [{low:.4g}, {high:.4g}] by up to {beyond.max():.3g} in {rows} rows"
        text += "; this is allowed for commands, the robot stops earlier." if is_action else "."
        yield OUT_OF_LIMITS.finding(
            channel.name, (stretches[0][0], stretches[-1][1] - 1), beyond.max(), allowed, channel.unit, text,
            severity="note" if is_action else "error",
        )  # fmt: skip


OUT_OF_LIMITS = QualityCheck(name="out_of_limits", asks="is a joint beyond its range?", find=find)

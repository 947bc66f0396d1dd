"""Is a recorded velocity the derivative of the recorded position, in sign and unit?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import STATE, RecordedEpisode
from twinloop.curate.quality.units import confusion
from twinloop.signals.delay import fit_line

APART = 2  # rows on each side of the derivative
MIN_MOVING = 20  # rows
OPPOSITE, SAME = -0.7, 0.7  # correlation
FACTOR = 3.0


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < max(config.shortest_rows, MIN_MOVING):
        return
    positions = {channel.name.partition("/")[2]: channel for channel in episode.channels if channel.feature == STATE}
    seconds = episode.seconds
    for channel in episode.channels:
        position = positions.get(channel.name.partition("/")[2])
        if position is None or not position.unit or channel.unit != f"{position.unit}/s":
            continue
        elapsed = seconds[2 * APART :] - seconds[: -2 * APART]
        if (elapsed <= 0).any():
            return
        derivative = (position.values[2 * APART :] - position.values[: -2 * APART]) / elapsed
        if (derivative != 0).sum() < MIN_MOVING:
            continue
        slope, correlation, _ = fit_line(derivative, channel.values[APART:-APART])
        if correlation < OPPOSITE:
            text = f"{channel.name} has the opposite sign of the derivative of {position.name}."
            measured, limit, unit = correlation, OPPOSITE, "correlation"
        elif correlation > SAME and not 1 / FACTOR < slope < FACTOR:
            text = f"{channel.name} is {slope:.3g} times the derivative of {position.name}: wrong unit?"
            text += f" ({confusion(slope)})" if confusion(slope) else ""
            measured, limit, unit = max(slope, 1 / slope), FACTOR, "×"
        else:
            continue
        yield VELOCITY_MISMATCH.finding(channel.name, (0, episode.rows - 1), np.float64(measured), limit, unit, text)


VELOCITY_MISMATCH = QualityCheck(
    name="velocity_mismatch", asks="is the velocity the derivative of the position?", find=find
)

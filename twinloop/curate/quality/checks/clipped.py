"""Is a channel cut off at its largest or smallest value?

Joints rest at their ends, and a closed gripper is at zero. So what stays at an extreme that all episodes share is told
and not rejected; what is cut off below where others go is.
"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, STATE, RecordedChannel, RecordedEpisode
from twinloop.curate.quality.spans import runs, span, usual_step

LEAST_RUN = 3
SAME_END = 0.005  # of the span
WAKES = 2.5  # large ordinary steps


def find(take: RecordedEpisode, crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if take.rows < config.shortest_rows:
        return
    for channel in take.channels:
        if channel.feature not in (ACTION, STATE) or span(channel.values) <= 0:
            continue
        for end, name in ((channel.values.max(), "high"), (channel.values.min(), "low")):
            yield from _cut(take, channel, end, name, crowd, config)


def _cut(
    take: RecordedEpisode,
    channel: RecordedChannel,
    end: float,
    name: str,
    crowd: DatasetStatistics,
    config: QualityConfig,
) -> Iterator[QualityFinding]:
    at = runs(channel.values == end)
    at = at[at[:, 1] - at[:, 0] >= LEAST_RUN]
    at = at[[not _all_still(take.signals[channel.feature][start:stop]) for start, stop in at]] if len(at) else at
    share = float((at[:, 1] - at[:, 0]).sum()) / take.rows
    # Into a real end a signal comes to rest; cut off, it arrives and leaves at speed.
    fast = [each for each in at if _edge(channel.values, each) > 0.3 * usual_step(channel.values)]
    if share < config.clip_share:
        return
    side = 1 if name == "high" else -1
    others = side * (crowd.known(name, channel.name, take.attempt) - end) / span(channel.values)
    shared = len(others) and float((np.abs(others) < SAME_END).mean()) > 0.3
    told = not shared and not channel.is_hand and _told_beyond(take, channel, at, side)
    if len(fast) < config.clip_runs and not told:
        return
    severe = told or (len(others) >= 3 and float((others > 0.02).mean()) > 0.5)
    if channel.is_hand and not severe:
        return
    said = f"{channel.name} stays at {end:.4g} in {len(at)} stretches, {100 * share:.0f} % of the rows"
    said += (
        ", and is commanded, or goes in other episodes, beyond it."
        if severe
        else "; an end stop, or a sensor at its end."
    )
    yield CLIPPED.finding(
        channel.name, (at[0][0], at[-1][1] - 1), share, config.clip_share, "of rows", said,
        severity="error" if severe else "note",
    )  # fmt: skip


def _all_still(rows: np.ndarray) -> bool:
    """Do all channels repeat themselves together? Then the robot rests, or readings are not fresh."""
    return rows.shape[1] > 1 and bool((np.diff(rows, axis=0) == 0).all(axis=1).mean() > 0.8)


def _told_beyond(take: RecordedEpisode, channel: RecordedChannel, at: np.ndarray, side: int) -> bool:
    """Do commands go well beyond the end while the channel stays exactly there, and come back?"""
    for pair in take.pairs:
        if pair.measured is channel:
            flat = np.zeros(take.rows, bool)
            for start, stop in at:
                flat[start:stop] = True
            # What is cut off moves on from where it was; a sensor that wakes up jumps, and has a check of its own.
            if max(_edge(channel.values, each) for each in at) > WAKES * usual_step(channel.values):
                return False
            error = side * (pair.command.values - channel.values)
            usual = float(np.quantile(np.abs(error[~flat]), 0.75)) if (~flat).any() else 0.0
            far = max(1.5 * usual, 0.02 * span(channel.values))
            # Of what is cut off, commands stay on the far side; a sensor that froze there is passed by both ways.
            passed = float((error[flat] < -far).mean())
            return float(np.quantile(error[flat], 0.9)) > far and passed < 0.1
    return False


def _edge(values: np.ndarray, stretch: np.ndarray) -> float:
    start, stop = stretch
    before = abs(values[start] - values[start - 1]) if start > 0 else 0.0
    after = abs(values[stop] - values[stop - 1]) if stop < len(values) else 0.0
    return float(max(before, after))


CLIPPED = QualityCheck(name="clipped", asks="is a channel cut off at an extreme?", find=find)

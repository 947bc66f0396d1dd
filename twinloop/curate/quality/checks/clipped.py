"""Does a channel stay at its largest or smallest value as if it were cut off?

Joints rest at their end stops, and a closed gripper is at zero. A stretch at an extreme is an error only if the joint
goes further in other episodes or is known to end elsewhere and, where it has a command, the command goes well beyond.
Commands and hands get a note: controllers clamp commands, and held objects stop fingers.
"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.holds import quantum
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import (
    ACTION,
    STATE,
    CommandedChannel,
    RecordedChannel,
    RecordedEpisode,
)
from twinloop.curate.quality.spans import quantile, runs, span, usual_step

MIN_RUN_ROWS = 3
MIN_OTHERS = 3
MIN_VALUES = 15  # distinct readings: a joint with fewer rests
MIN_SHARE = 0.1  # of the joint's reach
MIN_STEP_QUANTA = 2  # a joint with smaller steps rests
BEYOND = 0.02  # of the span
INSIDE = 0.1  # of the span
COMMANDED_BEYOND = 0.1  # of the span
SOME = 0.1  # of the other episodes
WAKE_STEPS = 2.5  # times a large ordinary step


def find(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows:
        return
    for channel in episode.channels:
        if channel.feature not in (ACTION, STATE) or span(channel.values) <= 0:
            continue
        for end, name in ((channel.values.max(), "high"), (channel.values.min(), "low")):
            yield from _cut(episode, channel, end, name, statistics, config)


def _cut(
    episode: RecordedEpisode,
    channel: RecordedChannel,
    end: float,
    name: str,
    statistics: DatasetStatistics,
    config: QualityConfig,
) -> Iterator[QualityFinding]:
    stretches = runs(channel.values == end)
    stretches = stretches[stretches[:, 1] - stretches[:, 0] >= MIN_RUN_ROWS]
    signals = episode.signals[channel.feature]
    stretches = stretches[[not _all_still(signals[start:stop]) for start, stop in stretches]]
    share = float((stretches[:, 1] - stretches[:, 0]).sum()) / episode.rows
    if share < config.clip_share:
        return
    step = usual_step(channel.values)
    side = 1 if name == "high" else -1
    beyond = side * (statistics.known(name, channel.name, episode.attempt) - end) / span(channel.values) > BEYOND
    # A joint slows down before it rests at an end stop. A clipped signal arrives and leaves at full speed.
    slowest = max(0.3 * step, MIN_STEP_QUANTA * quantum(channel.values))
    fast = [stretch for stretch in stretches if _edge(channel.values, stretch) > slowest]
    at_speed = len(fast) >= config.clip_runs
    pair = next((pair for pair in episode.pairs if pair.measured is channel), None)
    # A joint that rests within its dead band is commanded beyond its place too, but not far.
    reach = max(span(channel.values), statistics.high_end("span", channel.name, episode.attempt))
    far = (COMMANDED_BEYOND if fast else 2 * COMMANDED_BEYOND) * span(channel.values)
    if pair is not None and not at_speed:
        far = max(far, 2 * _usual_error(pair))
    commanded = pair is not None and _is_commanded_beyond(
        pair, stretches, side, far, delay_rows=statistics.usual_delay_rows
    )
    if not at_speed and not commanded:
        return
    moves = len(np.unique(channel.values)) >= MIN_VALUES and span(channel.values) > MIN_SHARE * reach
    sensor = channel.feature == STATE and not channel.is_hand and moves
    others = beyond.mean() if len(beyond) >= MIN_OTHERS else 0.0
    # An end stop also stops a joint at full speed, but it lies at the joint's limit.
    inside = at_speed and _is_inside(episode, channel, end, side) and (commanded or pair is None)
    severe = sensor and (inside or (commanded and others > SOME if pair else at_speed and others > 0.5))
    if channel.is_hand and not severe:
        return
    text = f"{channel.name} stays at {end:.4g} in {len(stretches)} stretches, {100 * share:.0f} % of the rows"
    if severe:
        text += ", though its limit lies beyond." if inside else ", and goes beyond it in other episodes."
    else:
        text += "; an end stop, or a sensor at its limit."
    yield CLIPPED.finding(
        channel.name, (stretches[0][0], stretches[-1][1] - 1), share, config.clip_share, "of rows", text,
        severity="error" if severe else "note",
    )  # fmt: skip


def _is_inside(episode: RecordedEpisode, channel: RecordedChannel, end: float, side: int) -> bool:
    """Does the joint's known limit lie well beyond this value?"""
    limit = episode.limit_of(channel)
    return limit is not None and side * ((limit[1] if side > 0 else limit[0]) - end) > INSIDE * span(channel.values)


def _all_still(rows: np.ndarray) -> bool:
    """Do all channels repeat together? Then the robot rests, or the readings are stale."""
    return rows.shape[1] > 1 and bool((np.diff(rows, axis=0) == 0).all(axis=1).mean() > 0.8)


def _is_commanded_beyond(
    pair: CommandedChannel, stretches: np.ndarray, side: int, far: float, *, delay_rows: int
) -> bool:
    """Does the command go well beyond the extreme while the reading stays exactly there, and come back?"""
    measured = pair.measured.values
    flat = np.zeros(len(measured), bool)
    for start, stop in stretches:
        flat[start:stop] = True
    # A clipped signal continues from where it was; a frozen sensor jumps when it wakes up, and has its own check.
    if max(_edge(measured, stretch) for stretch in stretches) > WAKE_STEPS * usual_step(measured):
        return False
    rows = np.maximum(np.arange(len(measured)) - delay_rows, 0)
    error = side * (pair.command.values[rows] - measured)
    # The command of a clipped signal stays on the far side; that of a frozen sensor passes both ways.
    passed = float((error[flat] < -far).mean())
    return quantile(error[flat], 0.9) > far and passed < 0.1


def _usual_error(pair: CommandedChannel) -> float:
    """Between command and reading, where the reading is not at one of its extremes."""
    measured = pair.measured.values
    inner = (measured > measured.min()) & (measured < measured.max())
    error = np.abs(pair.command.values - measured)[inner]
    return quantile(error, 0.75) if len(error) else 0.0


def _edge(values: np.ndarray, stretch: np.ndarray) -> float:
    start, stop = stretch
    before = abs(values[start] - values[start - 1]) if start > 0 else 0.0
    after = abs(values[stop] - values[stop - 1]) if stop < len(values) else 0.0
    return float(max(before, after))


CLIPPED = QualityCheck(name="clipped", asks="is a channel cut off at an extreme?", find=find)

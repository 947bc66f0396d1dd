"""Does a sensor repeat one value exactly while the joint must have moved?

A joint at rest repeats its value too: under a constant command, within its dead band, against an end stop, or with an
object in the fingers. So a hold is an error only if the joint can move that far, and one of these is true:

* the reading wakes up with a step that is larger than any other step of this joint;
* the command moved to both sides of the reading, by more than the joint's usual dead band;
* the command moved far to one side, by more than in any other hold. This does not count for hands, which are stopped by
  what they hold, nor at the end of the joint's range.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.holds import (
    MIN_HOLD_ROWS,
    Hold,
    hold_between,
    holds_of,
    largest_step,
    quantum,
)
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, SENT, STATE, CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import held, quantile, span

MIN_OTHERS = 4
QUANTA = 6  # a shorter way is within the rounding of the encoder
WAKE_STEPS = 1.5  # times the largest other step
MIN_SHARE = 0.05  # of the joint's range
MIN_HAND_SHARE = 0.12  # fingers have more play, and their tendons stretch
ONE_SIDED_SHARE = 0.2
BEYOND_USUAL = 2.0  # times what the joint usually tolerates
AT_END = 0.02  # of the range
RESTS = 0.3  # of the rows in one hold: a channel that rests that long may rest for a whole episode


def find(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows:
        return
    if statistics.commands_are_positions:
        joints = [_Joint.of(episode, pair, statistics) for pair in episode.pairs]
        stale = _stale_rows(episode, joints, config)
        if stale is not None:
            yield stale
            return
        for joint in joints:
            yield from _frozen_joint(episode, joint, config)
    yield from _dead_channels(episode, statistics, config)


@dataclass(frozen=True)
class _Joint:
    """Usual holds of one joint.

    Attributes:
        reach: how far its reading moves, here or in other episodes.
        step: largest step of the reading in other episodes.
        tolerated, tolerated_swing: excursion and swing of the command in holds of other episodes.
        low, high: ends of its reading over all episodes.
    """

    pair: CommandedChannel
    holds: tuple[Hold, ...]
    response_rows: int
    bias: float
    reach: float
    step: float
    tolerated: float
    tolerated_swing: float
    low: float
    high: float

    @classmethod
    def of(cls, episode: RecordedEpisode, pair: CommandedChannel, statistics: DatasetStatistics) -> "_Joint":
        name, measured = pair.measured.name, pair.measured.values
        difference = pair.command.values - measured
        bias = float(np.median(difference))
        lows, highs = (statistics.known(end, name, episode.attempt) for end in ("low", "high"))
        return cls(
            pair=pair,
            holds=holds_of(pair, statistics.response_rows),
            response_rows=statistics.response_rows,
            bias=bias,
            reach=max(span(measured), statistics.high_end("span", name, episode.attempt)),
            step=float(np.nan_to_num(statistics.typical("largest_step", name, episode.attempt))),
            tolerated=statistics.high_end("held_excursion", name, episode.attempt),
            tolerated_swing=statistics.high_end("held_swing", name, episode.attempt),
            low=float(min(measured.min(), lows.min(initial=np.inf))),
            high=float(max(measured.max(), highs.max(initial=-np.inf))),
        )

    def error(self, hold: Hold) -> float:
        """The usual distance between command and reading outside of a hold."""
        difference = np.abs(self.pair.command.values - self.pair.measured.values - self.bias)
        outside = np.delete(difference, slice(hold.start, hold.stop))
        return quantile(outside, 0.75) if len(outside) > MIN_HOLD_ROWS else 0.0

    def is_frozen(self, hold: Hold) -> bool:
        share = MIN_HAND_SHARE if self.pair.measured.is_hand else MIN_SHARE
        least = max(share * self.reach, QUANTA * quantum(self.pair.measured.values))
        if hold.excursion < least or self.reach < 0.5 * hold.excursion:
            return False
        return self._wakes(hold, least) or self._swings(hold, least) or self._is_left_behind(hold)

    def _wakes(self, hold: Hold, least: float) -> bool:
        recent = self.pair.command.values[max(hold.stop - self.response_rows, 0) : hold.stop + 1]
        explained = float(np.ptp(recent)) if len(recent) else 0.0
        step = max(self.step, explained, largest_step(self.pair.measured.values, without=hold.stop))
        return hold.jump > max(WAKE_STEPS * step, least)

    def _swings(self, hold: Hold, least: float) -> bool:
        others = max((other.swing for other in self.holds if not _overlap(other, hold)), default=0.0)
        usual = max(self.tolerated_swing, others)
        return hold.swing > max(least, BEYOND_USUAL * usual, BEYOND_USUAL * self.error(hold))

    def _is_left_behind(self, hold: Hold) -> bool:
        value = self.pair.measured.values[hold.start]
        at_end = min(value - self.low, self.high - value) < AT_END * self.reach
        if self.pair.measured.is_hand or at_end:
            return False
        others = max((other.excursion for other in self.holds if not _overlap(other, hold)), default=0.0)
        usual = max(self.tolerated, others)
        return hold.excursion > max(
            ONE_SIDED_SHARE * self.reach, BEYOND_USUAL * usual, 2 * BEYOND_USUAL * self.error(hold)
        )


def _overlap(one: Hold, other: Hold) -> bool:
    return one.start < other.stop and other.start < one.stop


def _stale_rows(episode: RecordedEpisode, joints: list[_Joint], config: QualityConfig) -> QualityFinding | None:
    """The whole state repeats: the recorder did not get fresh readings."""
    state = episode.signals.get(STATE)
    if state is None or state.shape[1] < 2:
        return None
    min_rows = max(MIN_HOLD_ROWS, round(config.frozen_s * episode.rate_hz / 2))
    for start, stop in held(state):
        if stop - start < min_rows:
            continue
        holds = [
            (joint, hold_between(joint.pair, int(start), int(stop), joint.response_rows, joint.bias))
            for joint in joints
        ]
        if any(joint.is_frozen(hold) for joint, hold in holds):
            duration_s = (stop - start) / episode.rate_hz
            text = f"All of {STATE} repeats from row {start} to {stop - 1} while the commands change."
            limit_s = min_rows / episode.rate_hz
            return FROZEN_SENSOR.finding(STATE, (start, stop - 1), duration_s, limit_s, "s", text)
    return None


def _frozen_joint(episode: RecordedEpisode, joint: _Joint, config: QualityConfig) -> Iterator[QualityFinding]:
    min_rows = max(MIN_HOLD_ROWS, round(config.frozen_s * episode.rate_hz))
    for hold in joint.holds:
        if hold.stop - hold.start >= min_rows and joint.is_frozen(hold):
            name, value = joint.pair.measured.name, joint.pair.measured.values[hold.start]
            moved = f"{hold.excursion:.3g} {joint.pair.command.unit}".rstrip()
            rows = f"from row {hold.start} to {hold.stop - 1}"
            text = f"{name} repeats {value:.4g} {rows} while its command moves by {moved}."
            duration_s = (hold.stop - hold.start) / episode.rate_hz
            yield FROZEN_SENSOR.finding(name, (hold.start, hold.stop - 1), duration_s, config.frozen_s, "s", text)
            return


def _dead_channels(
    episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig
) -> Iterator[QualityFinding]:
    """Sensors without a command that are constant here and never rest for long in the other episodes."""
    if statistics.others(episode.attempt) < MIN_OTHERS or episode.rows / episode.rate_hz < 2 * config.frozen_s:
        return
    commanded = {pair.measured.name for pair in episode.pairs}
    for channel in episode.channels:
        if channel.feature in (ACTION, SENT) or channel.name in commanded or np.ptp(channel.values) > 0:
            continue
        rests = statistics.known("longest_hold", channel.name, episode.attempt)
        if len(rests) >= MIN_OTHERS and rests.max() < RESTS:
            usual = statistics.typical("span", channel.name, episode.attempt)
            text = f"{channel.name} is {channel.values[0]:.4g} in every row; in other episodes it moves by {usual:.3g}."
            yield FROZEN_SENSOR.finding(channel.name, (0, episode.rows - 1), 0, usual, channel.unit, text)


FROZEN_SENSOR = QualityCheck(
    name="frozen_sensor", asks="does a sensor repeat itself while it is commanded to move?", find=find
)

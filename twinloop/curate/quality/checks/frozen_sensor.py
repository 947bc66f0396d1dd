"""Does a sensor repeat itself exactly while what it measures must have moved?

Joints at rest repeat themselves too, and a gripper that holds something stays where it is however far it is told to
close. So a repeated value is held against its command, and a hand's also against what happens when it ends: a stopped
finger moves on from where it was, a sensor that wakes up jumps to where the joint is.
"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import STATE, CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import held, span, usual_step

LEAST_OTHERS = 4
LEAST_HELD_ROWS = 5
HAND_SWING = 0.3  # of its span to either side: more than a finger that is late to let go


def find(take: RecordedEpisode, crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if take.rows < config.shortest_rows:
        return
    whole = _whole_row(take, config)
    if whole is not None:
        yield whole
        return
    seen = set()
    if crowd.commands_are_positions:
        for pair in take.pairs:
            found = _against_command(take, pair, config)
            if found is not None:
                seen.add(pair.measured.name)
                yield found
    yield from _never_moves(take, crowd, config, seen)


def _whole_row(take: RecordedEpisode, config: QualityConfig) -> QualityFinding | None:
    """Every channel of the state at once: readings that were not fresh."""
    state = take.signals.get(STATE)
    if state is None or state.shape[1] < 2 or not take.pairs:
        return None
    least = max(LEAST_HELD_ROWS, round(config.frozen_s * take.rate_hz / 2))
    for start, stop in held(state):
        moved = max(_moved(pair.command.values, start, stop) for pair in take.pairs)
        jump = max(_jump(pair.measured.values, stop) for pair in take.pairs)
        if stop - start >= least and moved > config.frozen_share and (jump > 1 or stop == take.rows or moved > 0.4):
            lasted_s = (stop - start) / take.rate_hz
            said = f"All of {STATE} repeats itself from row {start} to {stop - 1} while commands go on changing."
            return FROZEN_SENSOR.finding(STATE, (start, stop - 1), lasted_s, least / take.rate_hz, "s", said)
    return None


def _against_command(take: RecordedEpisode, pair: CommandedChannel, config: QualityConfig) -> QualityFinding | None:
    measured, command = pair.measured.values, pair.command.values
    least = max(LEAST_HELD_ROWS, round(config.frozen_s * take.rate_hz))
    for start, stop in held(measured):
        if stop - start < least:
            continue
        told = command[start:stop] - measured[start]
        moved = _moved(command, start, stop)
        if moved < config.frozen_share or span(command) <= 0:
            continue
        error = np.abs(command - measured)
        usual = float(np.median(np.delete(error, slice(start, stop)))) if stop - start < take.rows - 5 else 0.0
        swing = min(told.max(initial=0), -told.min(initial=0))  # commanded to both sides of where it stayed
        wakes = _jump(measured, stop) > 2 and abs(measured[min(stop, take.rows - 1)] - measured[start]) > 0.1 * span(
            measured
        )
        if pair.measured.is_hand:
            stuck = wakes or swing > HAND_SWING * span(command)
        else:
            stuck = wakes or swing > max(2 * usual, 0.05 * span(command)) or np.ptp(command[start:stop]) > 4 * usual
        if stuck:
            lasted_s = (stop - start) / take.rate_hz
            said = (
                f"{pair.measured.name} repeats {measured[start]:.4g} from row {start} to {stop - 1} while it is "
                f"commanded to move by {np.ptp(command[start:stop]):.3g} {pair.command.unit}".rstrip()
                + "."
            )
            return FROZEN_SENSOR.finding(pair.measured.name, (start, stop - 1), lasted_s, config.frozen_s, "s", said)
    return None


def _never_moves(
    take: RecordedEpisode, crowd: DatasetStatistics, config: QualityConfig, seen: set[str]
) -> Iterator[QualityFinding]:
    """Constant throughout, where it moves in nearly all other episodes and others of its feature move in this one."""
    if crowd.others(take.attempt) < LEAST_OTHERS or take.rows / take.rate_hz < 2 * config.frozen_s:
        return
    for channel in take.channels:
        if channel.name in seen or np.ptp(channel.values) > 0:
            continue
        moves = crowd.known("span", channel.name, take.attempt) > 0
        rest = [each for each in take.channels if each.feature == channel.feature and each.index != channel.index]
        usual = [crowd.typical("span", each.name, take.attempt) for each in rest]
        alive = [span(each.values) > 0.3 * typical > 0 for each, typical in zip(rest, usual, strict=True)]
        if len(moves) >= LEAST_OTHERS and moves.mean() >= 0.9 and any(alive):
            usual_span = crowd.typical("span", channel.name, take.attempt)
            said = f"{channel.name} is {channel.values[0]:.4g} throughout; elsewhere it moves by {usual_span:.3g}."
            yield FROZEN_SENSOR.finding(channel.name, (0, take.rows - 1), 0, usual_span, channel.unit, said)


def _moved(command: np.ndarray, start: int, stop: int) -> float:
    """How far a command moved in a stretch, as a share of its span."""
    whole = span(command)
    return float(np.ptp(command[start:stop])) / whole if whole > 0 else 0.0


def _jump(values: np.ndarray, stop: int) -> float:
    """The step out of a stretch, in large ordinary steps; 0 at the end."""
    usual = usual_step(values)
    return float(abs(values[stop] - values[stop - 1])) / usual if stop < len(values) and usual > 0 else 0.0


FROZEN_SENSOR = QualityCheck(
    name="frozen_sensor", asks="does a sensor repeat itself while it is commanded to move?", find=find
)

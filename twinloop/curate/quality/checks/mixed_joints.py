"""Does each joint follow its own command, that of another joint, or the opposite? Does it move before its command?

Readings are compared with commands at the usual delay of the dataset.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.following import follows, moving_delays
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import correlation, span

APART = 0.4  # largest share of the error that remains after two joints are exchanged
EARLY_S = 0.01
EARLY_ERROR = 0.5  # largest share of the unexplained motion that remains at a negative delay


def swapped(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not statistics.commands_are_positions:
        return
    delay_rows = statistics.usual_delay_rows
    for one, other in combinations(_moving(episode, config), 2):
        own = _error(one, one, delay_rows) + _error(other, other, delay_rows)
        crossed = _error(one, other, delay_rows) + _error(other, one, delay_rows)
        if own == 0 or crossed >= APART * own:
            continue
        if min(follows(one, other, delay_rows)[0], follows(other, one, delay_rows)[0]) > config.follow:
            for joint, command in ((one, other.command), (other, one.command)):
                text = f"{joint.measured.name} follows {command.name}, and the other way round."
                yield SWAPPED_JOINTS.finding(
                    joint.measured.name, (0, episode.rows - 1), crossed / own, APART, "of the error", text
                )


def flipped(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not statistics.commands_are_positions:
        return
    for pair in _moving(episode, config):
        correlation, _ = follows(pair, pair, statistics.usual_delay_rows)
        if correlation < -config.follow:
            text = f"{pair.measured.name} moves against {pair.command.name}: one of them has the other sign."
            yield SIGN_FLIP.finding(
                pair.measured.name, (0, episode.rows - 1), correlation, -config.follow, "correlation", text
            )


def early(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not statistics.commands_are_positions:
        return
    delays, limit_s = moving_delays(episode), max(1 / episode.rate_hz, EARLY_S)
    for pair in episode.pairs:
        delay = delays.get(pair.measured.name)
        if delay is None or delay.correlation < config.follow:
            continue
        # In one episode a lead may be chance, for example if a weak joint falls before it is lowered.
        usual = statistics.typical("delay_rows", pair.measured.name, episode.attempt)
        if np.nanmax([delay.rows, usual]) / episode.rate_hz >= -limit_s:
            continue
        together = correlation(*pair.aligned())
        if 1 - delay.correlation**2 < EARLY_ERROR * (1 - together**2):
            lead_s = -delay.rows / episode.rate_hz
            text = (
                f"{pair.measured.name} moves {1e3 * lead_s:.0f} ms before {pair.command.name}: the two were recorded "
                "with different clocks, or in different rows."
            )
            yield EARLY_MOTION.finding(
                pair.measured.name, (0, episode.rows - 1), lead_s, limit_s, "s", text, severity="note"
            )


def _moving(episode: RecordedEpisode, config: QualityConfig) -> list[CommandedChannel]:
    """Joints that move by more than a few encoder steps."""
    return [
        pair
        for pair in episode.pairs
        if span(pair.measured.values) > 0
        and span(pair.command.values) > 0
        and len(np.unique(pair.measured.values)) >= config.shortest_rows
    ]


def _error(command: CommandedChannel, measured: CommandedChannel, delay_rows: int) -> float:
    x, y = CommandedChannel(command.command, measured.measured, measured.powered).aligned(delay_rows)
    return float(np.sqrt(np.mean((x - y) ** 2))) if len(x) else 0.0


SWAPPED_JOINTS = QualityCheck(
    name="swapped_joints", asks="does a joint follow the command of another one?", find=swapped
)
SIGN_FLIP = QualityCheck(name="sign_flip", asks="does a joint move against its command?", find=flipped)
EARLY_MOTION = QualityCheck(name="early_motion", asks="does a joint move before its command?", find=early)

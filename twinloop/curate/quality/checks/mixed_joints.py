"""Does each joint follow its own command, that of another joint, or the opposite?"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import correlation, span

APART = 0.4  # largest share of the error that remains after two joints are exchanged


def swapped(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not statistics.commands_are_positions:
        return
    for one, other in combinations(_moving(episode, config), 2):
        own = _error(one, one) + _error(other, other)
        crossed = _error(one, other) + _error(other, one)
        alike = min(_alike(one, other), _alike(other, one))
        if own > 0 and crossed < APART * own and alike > config.follow:
            text = f"{one.measured.name} follows {other.command.name}, and the other way round."
            yield SWAPPED_JOINTS.finding(
                one.measured.name, (0, episode.rows - 1), crossed / own, APART, "of the error", text
            )


def flipped(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows or not statistics.commands_are_positions:
        return
    for pair in _moving(episode, config):
        follows = _alike(pair, pair)
        if follows < -config.follow:
            text = f"{pair.measured.name} moves against {pair.command.name}: one of them has the other sign."
            yield SIGN_FLIP.finding(
                pair.measured.name, (0, episode.rows - 1), follows, -config.follow, "correlation", text
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


def _alike(one: CommandedChannel, other: CommandedChannel) -> float:
    return correlation(one.command.values, other.measured.values)


def _error(one: CommandedChannel, other: CommandedChannel) -> float:
    return float(np.sqrt(np.mean((one.command.values - other.measured.values) ** 2)))


SWAPPED_JOINTS = QualityCheck(
    name="swapped_joints", asks="does a joint follow the command of another one?", find=swapped
)
SIGN_FLIP = QualityCheck(name="sign_flip", asks="does a joint move against its command?", find=flipped)

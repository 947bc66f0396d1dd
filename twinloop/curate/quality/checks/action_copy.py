"""Is the action a copy of the state, in the same row or shifted by one or two?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import span

SHIFTS = (0, 1, -1, 2, -2)
SAME = 1e-5  # of the span: rounding differences


def find(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    moving = [pair for pair in episode.pairs if span(pair.measured.values) > 0 and span(pair.command.values) > 0]
    if episode.rows < config.shortest_rows or not moving:
        return
    for shift in SHIFTS:
        shares = [_copied(pair, shift) for pair in moving]
        copies = [pair for pair, share in zip(moving, shares, strict=True) if share > config.copy_share]
        # A single channel may follow perfectly; half of all channels do not.
        if len(copies) >= max(1, len(moving) / 2):
            when = {0: "in the same row", 1: "of the next row", -1: "of the row before"}
            names = ", ".join(pair.command.name for pair in copies[:3]) + (" ..." if len(copies) > 3 else "")
            text = f"{names} equals the measured state {when.get(shift, f'{shift} rows on')}: no command was recorded."
            share = float(np.median([share for share in shares if share > config.copy_share]))
            frames = (0, episode.rows - 1)
            yield ACTION_COPY.finding(copies[0].command.name, frames, share, config.copy_share, "of rows", text)
            return


def _copied(pair: CommandedChannel, shift: int) -> float:
    """Share of the rows with motion in which command and reading are equal."""
    command, measured = pair.command.values, pair.measured.values
    command = command[max(0, -shift) : len(command) - max(0, shift)]
    shifted = measured[max(0, shift) : len(measured) - max(0, -shift)]
    moves = np.abs(np.gradient(shifted)) > SAME * span(measured)
    return float((np.abs(command - shifted) <= SAME * span(measured))[moves].mean()) if moves.sum() > 3 else 0.0


ACTION_COPY = QualityCheck(name="action_copy", asks="is the action a copy of the state?", find=find, independent=True)

"""ResidualSummary: peak, level and offset of every residual in each episode, in usual sizes.

All residuals are columns of one table. It is filled for a few episodes at a time, which stay in the processor's cache.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.frame_residuals import FrameResiduals
from twinloop.curate.discriminator.posture_support import PostureSupport
from twinloop.curate.discriminator.scene_motion import REGIMES, regimes
from twinloop.curate.discriminator.trajectories import Trajectories

EXTRAPOLATED = ("step", "static", "range")
"""Kinds of aspects whose residuals grow with the distance from the postures of the training data."""
CHUNK_FRAMES = 384


@dataclass(frozen=True)
class ResidualSummary:
    """Residuals of n episodes divided by their usual size in the same contact regime.

    Attributes:
        columns: aspect -> its columns in the tables.
        peak: (n, columns) largest size.
        level: (n, columns) mean size.
        offset: (n, columns) size of the mean.
        frames: (frames,) largest size in each frame.
    """

    columns: Mapping[str, slice]
    peak: np.ndarray
    level: np.ndarray
    offset: np.ndarray
    frames: np.ndarray


def summary_of(
    trajectories: Trajectories,
    residuals: FrameResiduals,
    usual_sizes: Mapping[str, np.ndarray],
    support: PostureSupport,
) -> ResidualSummary:
    """Summarize residuals. usual_sizes: aspect -> (regimes, columns) usual size of a residual."""
    columns = residuals.columns
    sizes = np.empty((REGIMES, max(place.stop for place in columns.values())))
    for aspect, place in columns.items():
        sizes[:, place] = usual_sizes[aspect]
    regime, growth = regimes(trajectories), support.growth(trajectories)
    grown = {
        aspect: growth[feature]
        for aspect in columns
        for kind, _, feature in (aspect.partition(":"),)
        if kind in EXTRAPOLATED and feature in growth
    }
    starts, lengths = trajectories.starts, trajectories.lengths
    peak, total, signed = (np.empty((len(trajectories), sizes.shape[1])) for _ in range(3))
    frames = np.empty(trajectories.frames)
    for first, last in _chunks(trajectories):
        rows, episodes = slice(int(starts[first]), int(starts[last] + lengths[last])), slice(first, last + 1)
        own = starts[episodes] - rows.start
        table = residuals.table(rows, own)
        table /= sizes[regime[rows]]
        for aspect, factor in grown.items():
            table[:, columns[aspect]] /= factor[rows]
        np.add.reduceat(table, own, axis=0, out=signed[episodes])
        np.abs(table, out=table)
        np.add.reduceat(table, own, axis=0, out=total[episodes])
        np.maximum.reduceat(table, own, axis=0, out=peak[episodes])
        table.max(axis=1, out=frames[rows])
    count = lengths[:, None]
    return ResidualSummary(columns, peak, total / count, np.abs(signed / count), frames)


def _chunks(trajectories: Trajectories) -> Iterator[tuple[int, int]]:
    """First and last episode of groups with about `CHUNK_FRAMES` frames."""
    first, frames = 0, 0
    for number, length in enumerate(trajectories.lengths):
        frames += int(length)
        if frames >= CHUNK_FRAMES or number == len(trajectories) - 1:
            yield first, number
            first, frames = number + 1, 0

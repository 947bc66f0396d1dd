"""Residuals of single channels: jumps, repeated values, and values beyond the range of good episodes.

All features are columns of one table, because wide tables are faster than narrow ones. It is filled for some episodes
at a time, which stay in the processor's cache.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.channel_inputs import modelled_features, parts_of
from twinloop.curate.discriminator.trajectories import CONTACT, Trajectories, TrajectorySchema

MOST_REPEATS = 50


@dataclass(frozen=True)
class ChannelRanges:
    """Feature -> (2, d) smallest and largest value of each element in the training data."""

    ends: Mapping[str, np.ndarray]


def fit_ranges(trajectories: Trajectories) -> ChannelRanges:
    features = (*modelled_features(trajectories.schema), *((CONTACT,) if CONTACT in trajectories.signals else ()))
    return ChannelRanges({name: np.quantile(trajectories.signals[name], (0.0005, 0.9995), axis=0) for name in features})


class SingleChannels:
    """Fills a table with the residuals of single channels.

    Attributes:
        columns: aspect -> its columns in that table.
        channels: aspect -> the channel of each of its columns.
        width: columns of the table.
    """

    def __init__(self, trajectories: Trajectories, ranges: ChannelRanges):
        schema, signals = trajectories.schema, trajectories.signals
        modelled = modelled_features(schema)
        features = (*modelled, *(feature for feature in ranges.ends if feature not in modelled))
        self._signals = [signals[feature] for feature in features]
        widths = [values.shape[1] for values in self._signals]
        self._count, self._modelled = sum(widths), sum(widths[: len(modelled)])
        self._ends, self._span = np.full((2, self._count), [[-np.inf], [np.inf]]), np.ones(self._count)
        self._force = slice(0, 0)
        self.columns: dict[str, slice] = {}
        self.channels: dict[str, tuple[str, ...]] = {}
        at = 0
        for feature, width in zip(features, widths, strict=True):
            place = slice(at, at := at + width)
            if feature in ranges.ends:
                self._ends[:, place] = ends = ranges.ends[feature]
                self._span[place] = _spans(schema, feature, ends[1] - ends[0])
            if feature == CONTACT:
                self._force = place
            for aspect, begin in (("range", 0), ("repeats", self._count), ("jump", 2 * self._count)):
                if aspect == "jump" and feature not in modelled:
                    continue
                self.columns[f"{aspect}:{feature}"] = slice(begin + place.start, begin + place.stop)
                self.channels[f"{aspect}:{feature}"] = tuple(schema.channel(feature, index) for index in range(width))
        self.width = 2 * self._count + self._modelled

    def fill(self, table: np.ndarray, rows: slice, starts: np.ndarray) -> None:
        """Fill a (frames, width) table with whole episodes: frames `rows`, which begin at `starts` in the table."""
        signal = np.concatenate([values[rows] for values in self._signals], axis=1)
        beyond, repeats = table[:, : self._count], table[:, self._count : 2 * self._count]
        jump = table[:, 2 * self._count :]
        np.subtract(self._ends[0], signal, out=beyond)
        np.maximum(beyond, signal - self._ends[1], out=beyond)
        np.maximum(beyond, 0, out=beyond)
        beyond /= self._span
        ends = np.append(starts[1:], len(signal)) - 1
        step = np.empty_like(signal)
        np.subtract(signal[1:], signal[:-1], out=step[1:])
        step[starts] = 0.0
        same = step == 0
        same[starts] = False
        moved = step[:, : self._modelled]
        np.subtract(moved[1:], moved[:-1], out=jump[:-1])
        jump[ends] = -moved[ends]
        row = np.arange(len(signal), dtype=np.int32)[:, None]
        last_change = np.maximum.accumulate(np.where(same, np.int32(0), row), axis=0)
        np.minimum(row - last_change, MOST_REPEATS, out=repeats, casting="unsafe")
        repeats[:, self._force] *= signal[:, self._force] > 0  # no force at all may last


def _spans(schema: TrajectorySchema, feature: str, own: np.ndarray) -> np.ndarray:
    """(d,) the width of each element's range, at least half of the widest one of arm or hand.

    A joint that hardly moved in the training data may move like the others.
    """
    spans = np.maximum(own, 1e-9)
    for part in map(list, parts_of(schema, feature)):
        spans[part] = np.maximum(spans[part], spans[part].max() / 2)
    return spans

"""Drift: how much of what a robot senses the training data does not know, as one number in 0..1 for an episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Known:
    """Feature -> (low, high), each (d,): the range in which 98 % of the training data lies."""

    ranges: Mapping[str, tuple[np.ndarray, np.ndarray]]

    def to_json(self) -> dict[str, Any]:
        return {name: {"low": low.tolist(), "high": high.tolist()} for name, (low, high) in self.ranges.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Known":
        return cls(
            {name: (np.array(ends["low"], float), np.array(ends["high"], float)) for name, ends in value.items()}
        )


def known_from_stats(stats: Mapping[str, Mapping[str, Any]], features: tuple[str, ...]) -> Known:
    """From a dataset's statistics, as LeRobot's `meta/stats.json` has them; pictures are not asked for."""
    ranges = {}
    for name in features:
        if name not in stats or not {"q01", "q99"} <= set(stats[name]):
            raise ValueError(f"{name}: the training data has no 1 % and 99 % quantiles of it")
        ranges[name] = tuple(np.asarray(stats[name][each], float).reshape(-1) for each in ("q01", "q99"))
    return Known(ranges)


def drift_score(frames: Mapping[str, np.ndarray], known: Known) -> float:
    """The share of all values of an episode that lie outside what is known; around 0.02 for episodes like those of the
    training data. frames: feature -> (frames, d). What is not a number is not known."""
    outside = total = 0
    for name, (low, high) in known.ranges.items():
        if name not in frames:
            raise ValueError(f"{name}: is missing in this episode, though the training data has it")
        values = np.asarray(frames[name], float)
        wide = int(np.prod(values.shape[1:]))
        if wide != len(low):
            raise ValueError(f"{name}: has {wide} values a frame here, {len(low)} in the training data")
        values = values.reshape(len(values), wide)
        # Rounding alone must not put a constant outside of itself.
        room = 1e-6 + 1e-6 * np.maximum(np.abs(low), np.abs(high))
        outside += int((~((values >= low - room) & (values <= high + room))).sum())
        total += values.size
    if not total:
        raise ValueError("an episode without frames has no drift")
    return outside / total

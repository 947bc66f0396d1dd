"""MobileMeasure: a quantity of a mobile robot to plot, and the choice of the one that a row changes most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Channels = dict[str, np.ndarray]
"""Name -> (frames, ...) of one episode."""
Three = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class MobileMeasure:
    """A quantity to plot.

    Attributes:
        label: name and unit.
        least: the smallest difference that counts, in that unit.
        of: channels of one episode -> (f,) values.
    """

    label: str
    least: float
    of: Callable[[Channels], np.ndarray]


def length(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(values).sum(axis=-1))


def clearest(measures: Mapping[str, MobileMeasure], tapes: list[Channels]) -> tuple[str, Three, float]:
    """(name of the measure that changes most, its curve for each of three values, how clear the difference is)."""
    lines = {name: [measure.of(tape) for tape in tapes] for name, measure in measures.items()}
    apart = {name: np.abs(curves[0] - curves[2]) / measures[name].least for name, curves in lines.items()}
    name = max(apart, key=lambda measure: float(np.mean(apart[measure])))
    low, nominal, high = lines[name]
    return name, (low, nominal, high), float(apart[name].max())


def tapes_of(frames: list[Channels], count: int) -> list[Channels]:
    """Channels of each of `count` episodes from those of all of them in each frame."""
    return [{name: np.array([frame[name][k] for frame in frames]) for name in frames[0]} for k in range(count)]

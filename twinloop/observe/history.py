"""History: means of earlier readings as an input of a policy.

One reading does not tell how noisy it is, nor how fast things move. The input has means of the vectors that the policy
reads, over windows that follow each other back in time and are twice as long each. Recent windows show motion, old ones
average the noise of things that stand still. A window that ends before the episode began has the mean of all readings
so far. Commands are left out: a policy that sees them learns to repeat them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from twinloop.observe.recording import Feature

HISTORY = "observation.history"
ENDS_S = (0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12)
"""How old the oldest reading of each window is. The youngest of the next window is one control period older."""


def history_feature(vectors: Sequence[Feature]) -> Feature:
    """The feature with the means of earlier readings of these vectors."""
    windows = [f"{1000 * start_s:.0f}_to_{1000 * end_s:.0f}ms_ago" for start_s, end_s in pairwise((0.0, *ENDS_S))]
    names = tuple(f"{window}.{name}" for window in windows for feature in vectors for name in feature.names)
    units = "; ".join(feature.unit for feature in vectors)
    return Feature(HISTORY, "float32", (len(names),), names, units)


def _ends(rate_hz: float) -> np.ndarray:
    """(windows,) age of the oldest reading of each window, in control periods. Every window has a reading."""
    ends = np.zeros(len(ENDS_S), int)
    for window, end_s in enumerate(ENDS_S):
        ends[window] = max(round(end_s * rate_hz), (ends[window - 1] if window else 0) + 1)
    return ends


def _windows(period: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(periods, windows) youngest and oldest age of the readings in each window, if an episode is in these periods."""
    youngest = np.concatenate([[1], ends[:-1] + 1])
    inside = youngest <= period[:, None]
    return np.where(inside, youngest, 0), np.where(inside, np.minimum(ends, period[:, None]), period[:, None])


def past_readings(
    vectors: Mapping[str, np.ndarray], names: Sequence[str], lengths: np.ndarray, *, rate_hz: float
) -> np.ndarray:
    """(frames, elements) the history of whole episodes, back to back.

    Args:
        vectors: name -> (frames, d).
        names: the vectors that the history repeats.
        lengths: (n,) frames of each episode.
    """
    readings = np.concatenate([vectors[name] for name in names], axis=1)
    ends, histories = _ends(rate_hz), []
    for episode in np.split(readings, np.cumsum(lengths)[:-1]):
        sums = np.zeros((len(episode) + 1, episode.shape[1]))
        np.cumsum(episode, axis=0, dtype=float, out=sums[1:])
        period = np.arange(len(episode))
        youngest, oldest = _windows(period, ends)
        last, first = period[:, None] - youngest, period[:, None] - oldest
        means = (sums[last + 1] - sums[first]) / (last + 1 - first)[..., None]
        histories.append(means.astype(readings.dtype).reshape(len(episode), -1))
    return np.concatenate(histories) if histories else readings.repeat(len(ends), axis=1)


class History:
    """Means of the last readings of `width` robots, each in its own episode.

    Args:
        names: the vectors that the history repeats.
    """

    def __init__(self, names: Sequence[str], *, width: int, rate_hz: float):
        self._names, self._ends = tuple(names), _ends(rate_hz)
        self._rows, self._period = np.arange(width), np.zeros(width, int)
        self._sums: np.ndarray | None = None

    def begin(self, ids: np.ndarray) -> None:
        """Forget the readings of these rows, because new episodes begin there."""
        self._period[ids] = 0
        if self._sums is not None:
            self._sums[ids] = 0

    def take(self, seen: Mapping[str, np.ndarray]) -> np.ndarray:
        """Store the readings of this control period and return the (width, elements) history. Call once per period."""
        readings = np.concatenate([seen[name] for name in self._names], axis=1)
        depth = int(self._ends.max()) + 2
        if self._sums is None:  # sums of all readings before the periods, in a ring
            self._sums = np.zeros((len(self._rows), depth, readings.shape[1]))
        after = self._sums[self._rows, self._period % depth] + readings
        self._sums[self._rows, (self._period + 1) % depth] = after
        youngest, oldest = _windows(self._period, self._ends)
        last, first = self._period[:, None] - youngest, self._period[:, None] - oldest
        rows = self._rows[:, None]
        sums = self._sums[rows, (last + 1) % depth] - self._sums[rows, first % depth]
        self._period += 1
        return (sums / (last + 1 - first)[..., None]).astype(readings.dtype).reshape(len(rows), -1)

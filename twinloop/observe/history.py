"""History: earlier readings as an input of a policy.

One reading does not tell how noisy it is, nor how fast things move. The input repeats the vectors that the policy
reads, each as it was some time ago. Before an episode is that old, its first reading takes their place. Commands are
left out: a policy that sees them learns to repeat them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from twinloop.observe.recording import Feature

HISTORY = "observation.history"
AGES_S = (0.08, 0.16, 0.32, 0.64, 1.28)
"""How old the readings are. Success of policies that plug in with a tracker noise of 6 mm, in 48 episodes each: 21
without a history, 38 and 41 with ages up to 0.32 s, 46 and 45 with these, 38 with 16 ages up to 0.96 s."""


def history_feature(vectors: Sequence[Feature]) -> Feature:
    """The feature with the earlier readings of these vectors."""
    names = tuple(
        f"{1000 * age_s:.0f}ms_ago.{name}" for age_s in AGES_S for feature in vectors for name in feature.names
    )
    units = "; ".join(feature.unit for feature in vectors)
    return Feature(HISTORY, "float32", (len(names),), names, units)


def _ages(rate_hz: float) -> np.ndarray:
    """(ages,) in control periods."""
    return np.array([max(1, round(age_s * rate_hz)) for age_s in AGES_S])


def past_readings(
    vectors: Mapping[str, np.ndarray], names: Sequence[str], lengths: np.ndarray, *, rate_hz: float
) -> np.ndarray:
    """(frames, elements) the history of whole episodes, back to back.

    Args:
        vectors: name -> (frames, d).
        names: the vectors that the history repeats.
        lengths: (n,) frames of each episode.
    """
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    frames = np.arange(len(first))
    readings = np.concatenate([vectors[name] for name in names], axis=1)
    return np.concatenate([readings[np.maximum(frames - age, first)] for age in _ages(rate_hz)], axis=1)


class History:
    """The last readings of `width` robots, each in its own episode.

    Args:
        names: the vectors that the history repeats.
    """

    def __init__(self, names: Sequence[str], *, width: int, rate_hz: float):
        self._names, self._ages = tuple(names), _ages(rate_hz)
        self._rows, self._period = np.arange(width), 0
        self._fresh = np.ones(width, bool)
        self._past: np.ndarray | None = None

    def begin(self, ids: np.ndarray) -> None:
        """Forget the readings of these rows, because new episodes begin there."""
        self._fresh[ids] = True

    def take(self, seen: Mapping[str, np.ndarray]) -> np.ndarray:
        """Store the readings of this control period and return the (width, elements) history. Call once per period."""
        readings = np.concatenate([seen[name] for name in self._names], axis=1)
        depth = int(self._ages.max()) + 1
        if self._past is None:
            self._past = np.zeros((len(self._rows), depth, readings.shape[1]), readings.dtype)
        self._past[self._fresh] = readings[self._fresh, None]
        self._fresh[:] = False
        self._past[:, self._period % depth] = readings
        out = np.concatenate([self._past[:, (self._period - age) % depth] for age in self._ages], axis=1)
        self._period += 1
        return out

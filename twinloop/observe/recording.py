"""Recording: recorded features of several episodes, one array per feature, episodes back to back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

ESTIMATE = "observation.estimate"
"""Feature with the estimated state of robot and object (see `estimate.py`)."""
NEEDED = ("observation.state", "observation.velocity", "observation.effort", "observation.environment_state")
"""Features that the estimate is computed from."""

PREFIX = "observation.images."
"""Of the names of pictures."""

Pictures = Callable[[np.ndarray], Iterator[Mapping[str, np.ndarray]]]
"""(k,) indices of episodes that have frames -> for each, in that order, feature name -> its frames:
(length, height, width, 3) uint8 of a video, (length, height, width) float32 metres of a depth, (length, height, width)
uint8 ids of a mask, and (length, *shape) of a column that only filming can tell.

Pictures are too large to be kept. They are made when asked for, and only those that are asked for.
"""


@dataclass(frozen=True)
class Feature:
    """One recorded quantity: a column of every frame.

    `shape` is that of one frame; (1,) is stored as a scalar. `names` labels the elements, `unit` is theirs.
    A picture is `video`, (height, width, 3) in RGB, `depth`, (height, width, 1) in metres, or `mask`, (height, width,
    1) of ids; `names` of a mask are what its ids mean, in order.
    """

    name: str
    dtype: Literal["float32", "float64", "int64", "bool", "video", "depth", "mask"]
    shape: tuple[int, ...]
    names: tuple[str, ...] = ()
    unit: str = ""

    @property
    def is_picture(self) -> bool:
        return self.dtype in ("video", "depth", "mask")


@dataclass(frozen=True)
class Recording:
    """Frames of consecutive episodes.

    attempts: (n,) int64, each episode's index in its run: with the config digest and the run seed it is
        all that is needed to make the episode again.
    lengths: (n,) int64, frames in each episode; an episode that diverged at once may have none.
    tasks: the instruction of each episode, in words.
    frames: feature name -> (lengths.sum(), *shape), or (lengths.sum(),) for a scalar feature; no pictures.
    pictures: makes those of the episodes it is asked for, and the columns that `frames` has not; None where there is
        nothing to film.
    """

    attempts: np.ndarray
    lengths: np.ndarray
    tasks: tuple[str, ...]
    features: tuple[Feature, ...]
    frames: Mapping[str, np.ndarray]
    pictures: Pictures | None = None

    @cached_property
    def starts(self) -> np.ndarray:
        """(n,) the row of `frames` at which each episode begins."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @property
    def total_frames(self) -> int:
        return int(self.lengths.sum())

    @property
    def filmed(self) -> tuple[Feature, ...]:
        """The features that come with the pictures: those, and the labels of each."""
        return tuple(feature for feature in self.features if feature.is_picture or feature.name not in self.frames)

    def take(self, keep: np.ndarray) -> "Recording":
        """The episodes where the (n,) mask `keep` is true, in the same order."""
        rows = np.repeat(keep, self.lengths)
        return Recording(
            attempts=self.attempts[keep],
            lengths=self.lengths[keep],
            tasks=tuple(task for task, kept in zip(self.tasks, keep, strict=True) if kept),
            features=self.features,
            frames={name: values[rows] for name, values in self.frames.items()},
            pictures=_pictures_of(self.pictures, np.flatnonzero(keep)),
        )


def _pictures_of(pictures: Pictures | None, kept: np.ndarray) -> Pictures | None:
    """The pictures of a selection, of which episode i is episode `kept[i]` of the whole."""
    return None if pictures is None else lambda episodes: pictures(kept[episodes])

"""Recording: recorded features of several episodes, one array per feature, episodes back to back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

ESTIMATE = "observation.estimate"
"""Feature with the estimated state of robot and object (see `estimate.py`)."""
NEEDED = ("observation.state", "observation.velocity", "observation.effort", "observation.environment_state")
"""Features that the estimate is computed from."""

PREFIX = "observation.images."
"""Prefix of the names of image features."""


@dataclass(frozen=True)
class HeldFrames:
    """Frames of a camera that is slower than the rows: every image once, and which of them each row shows.

    It can be indexed like the array of all frames.

    Attributes:
        images: (images, height, width, ...).
        shown: (length,) index of the image of each row.
    """

    images: np.ndarray
    shown: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.shown), *self.images.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.images.dtype

    def __len__(self) -> int:
        return len(self.shown)

    def __getitem__(self, rows: Any) -> np.ndarray:
        first, *others = rows if isinstance(rows, tuple) else (rows,)
        return self.images[(self.shown[first], *others)]

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.images[self.shown], dtype)


Frames = np.ndarray | HeldFrames
Pictures = Callable[[np.ndarray], Iterator[Mapping[str, Frames]]]
"""(k,) indices of episodes with frames -> for each episode, in this order, feature name -> its frames.

Frames are (length, height, width, 3) uint8 of a video, (length, height, width) float32 metres of depth, (length,
height, width) uint8 ids of a mask, and (length, *shape) of a column that is known only after rendering. Images are too
large to be kept, so they are rendered on request.
"""


@dataclass(frozen=True)
class Feature:
    """One recorded quantity: a column of every frame.

    `shape` is the shape of one frame; (1,) is stored as a scalar. `names` are the names of the elements and `unit` is
    their unit. An image is `video`, (height, width, 3) in RGB, `depth`, (height, width, 1) in metres, or `mask`,
    (height, width, 1) of ids. The `names` of a mask give the meaning of its ids, in order.
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

    Attributes:
        attempts: (n,) int64, index of each episode in its run. With the config digest and the run seed it is
            sufficient to reproduce the episode.
        lengths: (n,) int64, number of frames of each episode; 0 is possible for an episode that diverged at once.
        tasks: the instruction of each episode, in words.
        frames: feature name -> (lengths.sum(), *shape), or (lengths.sum(),) for a scalar feature; without images.
        pictures: renders images of the requested episodes, and the columns that are not in `frames`; None without
            cameras.
    """

    attempts: np.ndarray
    lengths: np.ndarray
    tasks: tuple[str, ...]
    features: tuple[Feature, ...]
    frames: Mapping[str, np.ndarray]
    pictures: Pictures | None = None

    @cached_property
    def starts(self) -> np.ndarray:
        """(n,) first row of each episode in `frames`."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @property
    def total_frames(self) -> int:
        return int(self.lengths.sum())

    @property
    def filmed(self) -> tuple[Feature, ...]:
        """The features that `pictures` provides: images and their labels."""
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
    """Images of a selection; episode i of the selection is episode `kept[i]` of the original recording."""
    return None if pictures is None else lambda episodes: pictures(kept[episodes])

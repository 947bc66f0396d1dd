"""Trajectories: recorded episodes as arrays, back to back, in the form that a curator reads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from twinloop.curate.quality.recorded_episode import FINGERS, HANDS

STATE, VELOCITY, EFFORT = "observation.state", "observation.velocity", "observation.effort"
ACTION, COMMAND, ENVIRONMENT, CONTACT = "action", "command", "observation.environment_state", "contact"
LABELS = ("phase", "next.reward", "next.success")
"""Columns that describe an episode's progress. They are compared with its end, not modelled."""

BLOCK_FRAMES = 8_000
"""Frames of a block: enough for efficient linear algebra, and few enough that a dataset has blocks for all threads."""


@lru_cache(maxsize=4096)
def is_hand(element: str) -> bool:
    """Whether an element belongs to a gripper or a hand, which a held object stops."""
    name = element.lower()
    return any(part in name for part in HANDS) or not set(re.split(r"[^a-z]+", name)).isdisjoint(FINGERS)


@dataclass(frozen=True)
class TrajectorySchema:
    """What a frame holds.

    Attributes:
        robot: name of the robot.
        rate_hz: frames per second.
        elements: feature -> names of its elements.
        cameras: names of the cameras whose images are compared.
    """

    robot: str
    rate_hz: float
    elements: Mapping[str, tuple[str, ...]]
    cameras: tuple[str, ...] = ()

    def channel(self, feature: str, index: int) -> str:
        """Name of one element for messages: `observation.state/joint3`."""
        return f"{feature}/{self.elements[feature][index]}"


@dataclass(frozen=True)
class Trajectories:
    """Episodes of one schema.

    Attributes:
        attempts: (n,) number of each episode in its dataset.
        lengths: (n,) frames of each episode.
        signals: feature -> (frames, d) float64.
        success: (n,) 1 for an episode labelled as success, 0 for a failure, NaN without a label.
        tasks: name of the task of each episode.
        labels: one of `LABELS` -> (frames,) float64.
        images: camera -> (frames, k) small version of every image, flattened.
    """

    schema: TrajectorySchema
    attempts: np.ndarray
    lengths: np.ndarray
    signals: Mapping[str, np.ndarray]
    success: np.ndarray
    tasks: tuple[str, ...]
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)
    images: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @property
    def frames(self) -> int:
        return int(self.lengths.sum())

    @cached_property
    def first_of(self) -> np.ndarray:
        """(frames,) first frame of each frame's episode."""
        return np.repeat(self.starts, self.lengths)

    @cached_property
    def last_of(self) -> np.ndarray:
        """(frames,) last frame of each frame's episode."""
        return np.repeat(self.starts + self.lengths - 1, self.lengths)

    def shifted(self, values: np.ndarray, frames: int) -> np.ndarray:
        """Values `frames` later, earlier if negative. At the ends of an episode its first or last frame is repeated."""
        if frames == 0:
            return values
        rows, ends = self.ends_at(frames)
        out = np.empty_like(values)
        if frames > 0:
            out[:-frames] = values[frames:]
        else:
            out[-frames:] = values[:frames]
        out[rows] = values[ends]
        return out

    def signal_at(self, feature: str, frames: int) -> np.ndarray:
        """`shifted` of a signal. Kept, because several models read the same one."""
        if (feature, frames) not in self._shifted_signals:
            self._shifted_signals[feature, frames] = self.shifted(self.signals[feature], frames)
        return self._shifted_signals[feature, frames]

    def step_of(self, feature: str) -> np.ndarray:
        """(frames, d) change of a signal since the frame before. Kept."""
        if feature not in self._steps:
            self._steps[feature] = self.signals[feature] - self.signal_at(feature, -1)
        return self._steps[feature]

    def ends_at(self, frames: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that have no row of their episode `frames` later, and the end of the episode that stands in."""
        if frames not in self._ends:
            rows = np.arange(self.frames) + frames
            beyond = np.flatnonzero((rows > self.last_of) | (rows < self.first_of))
            self._ends[frames] = beyond, (self.last_of if frames > 0 else self.first_of)[beyond]
        return self._ends[frames]

    @cached_property
    def _ends(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}

    @cached_property
    def _steps(self) -> dict[str, np.ndarray]:
        return {}

    @cached_property
    def _shifted_signals(self) -> dict[tuple[str, int], np.ndarray]:
        return {}

    def worst(self, values: np.ndarray) -> np.ndarray:
        """(n, ...) maximum of (frames, ...) values in each episode."""
        return np.maximum.reduceat(values, self.starts, axis=0)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """(n, ...) mean of (frames, ...) values in each episode."""
        total = np.add.reduceat(values, self.starts, axis=0)
        return total / self.lengths.reshape(-1, *[1] * (values.ndim - 1))

    def take(self, episodes: np.ndarray) -> "Trajectories":
        """The episodes of an index array or mask, in its order."""
        index = np.flatnonzero(episodes) if np.asarray(episodes).dtype == bool else np.asarray(episodes, int)
        rows = self._rows_of(index)
        return replace(
            self,
            attempts=self.attempts[index],
            lengths=self.lengths[index],
            signals={name: values[rows] for name, values in self.signals.items()},
            success=self.success[index],
            tasks=tuple(self.tasks[i] for i in index),
            labels={name: values[rows] for name, values in self.labels.items()},
            images={name: values[rows] for name, values in self.images.items()},
        )

    def _rows_of(self, index: np.ndarray) -> np.ndarray | slice:
        """The frames of some episodes; a slice, which is not copied, if they are neighbours."""
        if len(index) and (np.diff(index) == 1).all():
            return slice(int(self.starts[index[0]]), int(self.starts[index[-1]] + self.lengths[index[-1]]))
        lengths = self.lengths[index]
        first = np.repeat(self.starts[index] - (np.cumsum(lengths) - lengths), lengths)
        return first + np.arange(int(lengths.sum()))

    def blocks(self) -> "list[Trajectories]":
        """Blocks of whole episodes with about the same number of frames, to bound the memory of computations.

        A block has few frames more than `BLOCK_FRAMES`. Blocks do not depend on the number of threads, because on some
        processors the last bits of a matrix product depend on the number of its rows.
        """
        count = min(-(-self.frames // BLOCK_FRAMES), len(self))
        if count <= 1:
            return [self]
        middles = self.starts + self.lengths / 2
        block = np.minimum(middles * count // max(self.frames, 1), count - 1)
        return [self.take(block == number) for number in np.unique(block)]


def joined(parts: Sequence[Trajectories]) -> Trajectories:
    """Several sets of one schema, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return Trajectories(
        schema=first.schema,
        attempts=np.concatenate([part.attempts for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        signals={name: np.concatenate([part.signals[name] for part in parts]) for name in first.signals},
        success=np.concatenate([part.success for part in parts]),
        tasks=tuple(task for part in parts for task in part.tasks),
        labels={name: np.concatenate([part.labels[name] for part in parts]) for name in first.labels},
        images={name: np.concatenate([part.images[name] for part in parts]) for name in first.images},
    )

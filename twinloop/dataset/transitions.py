"""Shuffled training batches of (state, action, next state, terminal, reward).

Shards are visited in shuffled order and several are mixed at a time, so an epoch is well shuffled while memory holds
only a window of frames, whatever the size of the dataset.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import current_verdict
from twinloop.errors import DatasetError

from .header import Header
from .parquet import to_numpy

if TYPE_CHECKING:
    from .reader import Dataset

WINDOW_FRAMES = 1 << 18  # with 16 floats a frame this is 16 MiB, and 27 shards of 64 episodes of 150

TASK_NAME = "task_name"
REWARD, SUCCESS = "next.reward", "next.success"
STATE_FEATURES = ("observation.state", "observation.environment_state")
"""The default observation of a policy: the robot's joints, and the poses of object and goal."""


@dataclass(frozen=True)
class TransitionBatch:
    """n transitions, each from one frame to the next frame of its episode.

    Attributes:
        state, next_state: (n, s), the state features side by side.
        action: (n, a).
        terminal: (n,) bool, true for the last transition of an episode.
        reward: (n,) reward for reaching `next_state`; empty if the dataset has none.
        success: (n,) bool, whether `next_state` fulfils the task; empty if the dataset does not say.
        layout: feature -> its columns in `state` and `next_state`.
    """

    state: np.ndarray
    action: np.ndarray
    next_state: np.ndarray
    terminal: np.ndarray
    layout: Mapping[str, slice]
    reward: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    success: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    def to_arrow(self, action: str = "action") -> pa.RecordBatch:
        """Return one column per state feature, `action`, `next.` + each state feature, `terminal` and the rewards."""
        states = {name: _vectors(self.state[:, columns]) for name, columns in self.layout.items()}
        next_states = {f"next.{name}": _vectors(self.next_state[:, columns]) for name, columns in self.layout.items()}
        outcomes = {REWARD: self.reward, SUCCESS: self.success}
        return pa.RecordBatch.from_pydict(
            {
                **states,
                action: _vectors(self.action),
                **next_states,
                "terminal": pa.array(self.terminal),
                **{name: pa.array(values) for name, values in outcomes.items() if len(values) == len(self.terminal)},
            }
        )


def state_features(header: Header, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the features that make up the state: `names`, or those of `STATE_FEATURES` that the dataset has.

    Raises:
        DatasetError: the dataset has none of them, does not have a named one, or a named one is an image.
    """
    known = {feature.name for feature in header.features}
    chosen = tuple(name for name in STATE_FEATURES if name in known) if names is None else tuple(names)
    if not chosen:
        columns = ", ".join(feature.name for feature in header.columns)
        raise DatasetError(
            f"dataset {header.name!r} has no {' or '.join(STATE_FEATURES)}; give the features of the state with "
            f"state=[...]; features: {columns}"
        )
    return chosen


def _vectors(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


@dataclass(frozen=True)
class _Window:
    """Frames of several shards, and the rows at which a transition starts."""

    state: np.ndarray
    action: np.ndarray
    rows: np.ndarray
    terminal: np.ndarray  # (frames,) whether the next frame is the last of its episode
    layout: Mapping[str, slice]
    reward: np.ndarray  # (frames,) or empty, as `success`
    success: np.ndarray

    def batch(self, rows: np.ndarray) -> TransitionBatch:
        # `take` is the faster gather; an epoch spends its time here.
        return TransitionBatch(
            self.state.take(rows, axis=0),
            self.action.take(rows, axis=0),
            self.state.take(rows + 1, axis=0),
            self.terminal.take(rows),
            self.layout,
            self.reward.take(rows) if len(self.reward) else self.reward,
            self.success.take(rows) if len(self.success) else self.success,
        )


def transitions(
    dataset: "Dataset",
    batch_size: int,
    *,
    seed: int,
    shuffle: bool,
    state: tuple[str, ...],
    action: str,
    verdict: str | None,
    task: str | None,
) -> Iterator[TransitionBatch]:
    """Yield every transition of the episodes with this verdict once: T - 1 for an episode of T frames.

    All batches have `batch_size` transitions, except the last, which has the remainder. With verdict None, all stored
    episodes are used; with a task, only those of this task.
    """
    for name in (*state, action):
        if dataset.header.feature(name).is_picture:
            raise DatasetError(f"{dataset.path}: {name} is an image; transitions contain only vectors and numbers")
    rng = np.random.default_rng(seed)
    rest: list[TransitionBatch] = []  # fewer than batch_size transitions, from earlier windows
    for window in _windows(dataset, rng if shuffle else None, state, action, verdict, task):
        rows = rng.permutation(window.rows) if shuffle else window.rows
        missing = batch_size - sum(len(part.terminal) for part in rest)
        if rest and len(rows) >= missing:
            yield _join([*rest, window.batch(rows[:missing])])
            rest, rows = [], rows[missing:]
        stop = len(rows) - len(rows) % batch_size if not rest else 0
        for start in range(0, stop, batch_size):
            yield window.batch(rows[start : start + batch_size])
        if stop < len(rows):
            rest.append(window.batch(rows[stop:]))
    if rest:
        yield _join(rest)


def _windows(
    dataset: "Dataset",
    rng: np.random.Generator | None,
    state: tuple[str, ...],
    action: str,
    verdict: str | None,
    task: str | None,
) -> Iterator[_Window]:
    entries = [entry for entry in dataset.entries if entry.frames]
    if rng is not None:
        entries = [entries[index] for index in rng.permutation(len(entries))]
    group, frames = [], 0
    for entry in entries:
        group.append(entry)
        frames += entry.frames
        if frames >= WINDOW_FRAMES:
            yield _load(dataset, group, state, action, verdict, task)
            group, frames = [], 0
    if group:
        yield _load(dataset, group, state, action, verdict, task)


def _load(
    dataset: "Dataset",
    entries: list,
    state: tuple[str, ...],
    action: str,
    verdict: str | None,
    task: str | None,
) -> _Window:
    states, actions, lengths, selected = [], [], [], []
    known = {feature.name for feature in dataset.header.features}
    # The stored outcome of a frame is that of the state after its action.
    outcomes: dict[str, list[np.ndarray]] = {name: [] for name in (REWARD, SUCCESS) if name in known}
    layout: dict[str, slice] = {}
    for entry in entries:
        table = dataset.frames(entry, [*state, action, *outcomes])
        for name, stored in outcomes.items():
            stored.append(to_numpy(table[name]))
        parts = [to_numpy(table[name]) for name in state]
        parts = [part.reshape(len(part), -1) for part in parts]
        stops = np.cumsum([part.shape[1] for part in parts]).tolist()
        layout = {name: slice(stop - part.shape[1], stop) for name, part, stop in zip(state, parts, stops, strict=True)}
        states.append(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))
        actions.append(to_numpy(table[action]))
        episodes = dataset.episodes(entry, ["length", "verdict", *([] if task is None else [TASK_NAME])])
        lengths.append(to_numpy(episodes["length"]))
        verdicts = episodes["verdict"].to_pylist()
        wanted = np.array([verdict in (None, current_verdict(stored)) for stored in verdicts], bool)
        if task is not None:
            wanted &= np.array([name == task for name in episodes[TASK_NAME].to_pylist()], bool)
        selected.append(wanted)
    length = np.concatenate(lengths)
    ends = np.cumsum(length)[length > 0] - 1
    usable = np.repeat(np.concatenate(selected), length)
    usable[ends] = False  # the last frame of an episode has no next state
    terminal = np.zeros(len(usable), bool)
    terminal[(ends - 1)[ends > 0]] = True
    rows = np.flatnonzero(usable)
    reward, success = (
        np.concatenate(outcomes[name]) if name in outcomes else np.zeros(0, dtype)
        for name, dtype in ((REWARD, np.float32), (SUCCESS, bool))
    )
    return _Window(np.concatenate(states), np.concatenate(actions), rows, terminal, layout, reward, success)


def _join(parts: list[TransitionBatch]) -> TransitionBatch:
    return TransitionBatch(
        np.concatenate([part.state for part in parts]),
        np.concatenate([part.action for part in parts]),
        np.concatenate([part.next_state for part in parts]),
        np.concatenate([part.terminal for part in parts]),
        parts[0].layout,
        np.concatenate([part.reward for part in parts]),
        np.concatenate([part.success for part in parts]),
    )

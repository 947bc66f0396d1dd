"""Shuffled training batches of (state, action, next state, terminal).

Shards are visited in shuffled order and several at a time are mixed, so an epoch is well shuffled while
memory holds a window, whatever the size of the dataset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import current_verdict
from twinloop.errors import DatasetError

from .parquet import to_numpy

if TYPE_CHECKING:
    from .reader import Dataset

WINDOW_FRAMES = 1 << 18  # with 16 floats a frame this is 16 MiB, and 27 shards of 64 episodes of 150


@dataclass(frozen=True)
class TransitionBatch:
    """state, next_state: (n, s); action: (n, a); terminal: (n,) bool, true for the last of its episode."""

    state: np.ndarray
    action: np.ndarray
    next_state: np.ndarray
    terminal: np.ndarray

    def to_arrow(self, columns: tuple[str, str]) -> pa.RecordBatch:
        state, action = columns
        return pa.RecordBatch.from_pydict(
            {
                state: _vectors(self.state),
                action: _vectors(self.action),
                f"next.{state}": _vectors(self.next_state),
                "terminal": pa.array(self.terminal),
            }
        )


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
    terminal: np.ndarray  # of each frame: is the next frame the last of its episode?

    def batch(self, rows: np.ndarray) -> TransitionBatch:
        # `take` and not indexing: it is the faster gather, and this is where an epoch spends its time.
        return TransitionBatch(
            self.state.take(rows, axis=0),
            self.action.take(rows, axis=0),
            self.state.take(rows + 1, axis=0),
            self.terminal.take(rows),
        )


def transitions(
    dataset: "Dataset",
    batch_size: int,
    *,
    seed: int,
    shuffle: bool,
    columns: tuple[str, str],
    verdict: str | None,
) -> Iterator[TransitionBatch]:
    """Every transition of the episodes with this verdict (None: of all stored) once: T - 1 for T frames.

    All batches have `batch_size` transitions, except that the last has what is left.
    """
    for name in columns:
        if dataset.header.feature(name).is_picture:
            raise DatasetError(f"{dataset.path}: {name} is a picture; transitions have vectors and numbers only")
    rng = np.random.default_rng(seed)
    rest: list[TransitionBatch] = []  # fewer than batch_size transitions, from the windows before
    for window in _windows(dataset, rng if shuffle else None, columns, verdict):
        rows = rng.permutation(window.rows) if shuffle else window.rows
        wanted = batch_size - sum(len(part.terminal) for part in rest)
        if rest and len(rows) >= wanted:
            yield _join([*rest, window.batch(rows[:wanted])])
            rest, rows = [], rows[wanted:]
        stop = len(rows) - len(rows) % batch_size if not rest else 0
        for start in range(0, stop, batch_size):
            yield window.batch(rows[start : start + batch_size])
        if stop < len(rows):
            rest.append(window.batch(rows[stop:]))
    if rest:
        yield _join(rest)


def _windows(
    dataset: "Dataset", rng: np.random.Generator | None, columns: tuple[str, str], verdict: str | None
) -> Iterator[_Window]:
    entries = [entry for entry in dataset.entries if entry.frames]
    if rng is not None:
        entries = [entries[index] for index in rng.permutation(len(entries))]
    group, frames = [], 0
    for entry in entries:
        group.append(entry)
        frames += entry.frames
        if frames >= WINDOW_FRAMES:
            yield _load(dataset, group, columns, verdict)
            group, frames = [], 0
    if group:
        yield _load(dataset, group, columns, verdict)


def _load(dataset: "Dataset", entries: list, columns: tuple[str, str], verdict: str | None) -> _Window:
    states, actions, lengths, wanted = [], [], [], []
    for entry in entries:
        table = dataset.frames(entry, columns)
        states.append(to_numpy(table[columns[0]]))
        actions.append(to_numpy(table[columns[1]]))
        episodes = dataset.episodes(entry, ["length", "verdict"])
        lengths.append(to_numpy(episodes["length"]))
        wanted.append(
            np.array([verdict in (None, current_verdict(stored)) for stored in episodes["verdict"].to_pylist()], bool)
        )
    length = np.concatenate(lengths)
    ends = np.cumsum(length)[length > 0] - 1
    usable = np.repeat(np.concatenate(wanted), length)
    usable[ends] = False  # nothing follows the last frame
    terminal = np.zeros(len(usable), bool)
    terminal[(ends - 1)[ends > 0]] = True
    rows = np.flatnonzero(usable)
    return _Window(np.concatenate(states), np.concatenate(actions), rows, terminal)


def _join(parts: list[TransitionBatch]) -> TransitionBatch:
    return TransitionBatch(
        np.concatenate([part.state for part in parts]),
        np.concatenate([part.action for part in parts]),
        np.concatenate([part.next_state for part in parts]),
        np.concatenate([part.terminal for part in parts]),
    )

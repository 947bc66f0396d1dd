"""Dataset: reads the committed shards of a folder without a lock, also while a writer adds more."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import ACCEPTED
from twinloop.durable import storage_errors
from twinloop.errors import DatasetError, UsageError, nearest

from .columns import STATS_PREFIX
from .header import Header
from .identity import dataset_digest
from .layout import CONFIG, HEADER, MANIFEST, SHARDS
from .manifest import ShardEntry, read_manifest
from .parquet import read_schema, read_table, to_numpy
from .pictures import video_file
from .remote.address import Remote, place
from .shard import EPISODES, FRAMES
from .transitions import TASK_NAME, TransitionBatch, state_features, transitions
from .video import read_frames


@dataclass(frozen=True)
class Dataset:
    """The committed episodes of a folder, read without a lock, also while a writer adds more.

    Attributes:
        path: the folder.
        header: robot, rate, features and the plan of the run.
        entries: the committed shards at the moment of opening, in order of attempts.

    Example:
        >>> dataset = tl.Dataset.open("datasets/demo")
        >>> dataset.complete, dataset.header.robot
        (True, 'franka_panda')
        >>> frames = dataset.episode(0)
        >>> frames["action"].shape[1]
        8
        >>> for batch in dataset.transitions(256, seed=0):
        ...     loss = abs(batch.next_state - batch.state).mean()
    """

    path: Path
    header: Header
    entries: tuple[ShardEntry, ...]

    @classmethod
    def open(cls, path: Path | Remote | str) -> "Dataset":
        """Open the dataset in a folder. A dataset in an object store is first copied to the local cache."""
        path = place(path)
        if isinstance(path, Remote):
            from .remote.fetch import mirror

            path = mirror(path)
        if not (path / HEADER).is_file():
            problem = "is not a dataset: it has no dataset.json" if path.is_dir() else "is not a folder"
            raise DatasetError(f"{path}: {problem}")
        with storage_errors(path):
            return cls(path, Header.read(path / HEADER), read_manifest(path / MANIFEST).entries)

    @property
    def stored(self) -> int:
        """Number of episodes with rows. `episode_index` counts them from 0 in order of attempts."""
        return sum(entry.stored for entry in self.entries)

    @property
    def frame_count(self) -> int:
        return sum(entry.frames for entry in self.entries)

    @property
    def complete(self) -> bool:
        return {(entry.first, entry.stop) for entry in self.entries} == set(self.header.plan())

    def digest(self) -> str:
        return dataset_digest(self.header, self.entries)

    def config_text(self) -> str:
        with storage_errors(self.path):
            return (self.path / CONFIG).read_text(encoding="utf-8")

    def frames(self, entry: ShardEntry, columns: Iterable[str] | None = None) -> pa.Table:
        return read_table(self.path / SHARDS / entry.name / FRAMES, columns)

    def frames_file(self, entry: ShardEntry) -> memoryview:
        """Return the bytes of a shard's frames.parquet."""
        with storage_errors(self.path):
            return memoryview((self.path / SHARDS / entry.name / FRAMES).read_bytes())

    def episodes(self, entry: ShardEntry, columns: Iterable[str] | None = None) -> pa.Table:
        """Return a shard's episodes.parquet: one row per attempt, with its statistics."""
        return read_table(self.path / SHARDS / entry.name / EPISODES, columns)

    def columns(self) -> pa.Schema:
        """Return the schema of the attempts over all shards, without the statistics."""
        schemas = [read_schema(self.path / SHARDS / entry.name / EPISODES) for entry in self.entries]
        schema = pa.unify_schemas(schemas, promote_options="permissive") if schemas else pa.schema([])
        return pa.schema([field for field in schema if not field.name.startswith(STATS_PREFIX)])

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of the tasks of the committed episodes, in alphabetical order; () for recordings that have none."""
        if TASK_NAME not in self.columns().names:
            return ()
        names = {name for entry in self.entries for name in self.episodes(entry, [TASK_NAME])[TASK_NAME].to_pylist()}
        return tuple(sorted(names - {None}))

    def attempts(self) -> pa.Table:
        """Return one row per attempt, accepted or not, with all columns except the statistics."""
        tables = []
        for entry in self.entries:
            names = read_schema(self.path / SHARDS / entry.name / EPISODES).names
            tables.append(self.episodes(entry, [name for name in names if not name.startswith(STATS_PREFIX)]))
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})

    def episode(self, episode_index: int | None = None, *, attempt: int | None = None) -> dict[str, np.ndarray]:
        """Return the frames of one stored episode: column -> (frames, d) or (frames,)."""
        if (episode_index is None) == (attempt is None):
            raise UsageError("give one episode: either its episode_index or its attempt")
        entry, attempt = self._find(episode_index, attempt)
        table = self.frames(entry)
        rows = np.flatnonzero(to_numpy(table["attempt"]) == attempt)
        if len(rows) == 0:
            raise DatasetError(
                f"{self.path}: attempt {attempt} has no rows; it was rejected. A run with --keep-rejected stores them"
            )
        table = table.slice(int(rows[0]), len(rows))
        return {name: to_numpy(table[name]) for name in table.column_names}

    def pictures(
        self,
        episode_index: int | None,
        feature: str,
        *,
        attempt: int | None = None,
        rows: Sequence[int] | None = None,
    ) -> np.ndarray:
        """Return the images of one image feature of a stored episode.

        Args:
            episode_index: the stored episode; None if `attempt` is given.
            feature: name of the image feature.
            attempt: the episode by its attempt.
            rows: rows of the episode to read. Default: all.

        Returns:
            (n, height, width, 3) uint8 for a video, (n, height, width) float32 metres for depth, (n, height, width)
            uint8 ids for a mask. The `names` of a mask feature are the names of its ids.
        """
        wanted = self.header.feature(feature)
        if not wanted.is_picture:
            names = ", ".join(image.name for image in self.header.pictures) or "none"
            raise DatasetError(f"{self.path}: {feature} is not an image; images: {names}")
        entry, attempt = self._find(episode_index, attempt)
        lengths = to_numpy(self.episodes(entry, ["length"])["length"])
        start = int(lengths[: attempt - entry.first].sum())
        path = self.path / SHARDS / entry.name / video_file(wanted)
        spans = [(0, int(lengths[attempt - entry.first]))] if rows is None else [(row, row + 1) for row in rows]
        fps = self.header.fps
        return np.concatenate([read_frames(path, wanted, start + a, start + b, fps=fps) for a, b in spans])

    def _find(self, episode_index: int | None, attempt: int | None) -> tuple[ShardEntry, int]:
        before = 0
        for entry in self.entries:
            if attempt is not None and entry.first <= attempt < entry.stop:
                return entry, attempt
            if episode_index is not None and before <= episode_index < before + entry.stored:
                table = self.episodes(entry, ["attempt", "length"])
                stored = to_numpy(table["attempt"])[to_numpy(table["length"]) > 0]
                return entry, int(stored[episode_index - before])
            before += entry.stored
        if attempt is not None:
            raise DatasetError(f"{self.path}: attempt {attempt} is not in a committed shard")
        raise DatasetError(f"{self.path}: no episode {episode_index}; the dataset has {self.stored}, counted from 0")

    @overload
    def transitions(
        self,
        batch_size: int,
        *,
        seed: int,
        shuffle: bool = True,
        as_: Literal["numpy"] = "numpy",
        state: Sequence[str] | None = None,
        action: str = "action",
        verdict: str | None = ACCEPTED,
        task: str | None = None,
    ) -> Iterator[TransitionBatch]: ...

    @overload
    def transitions(
        self,
        batch_size: int,
        *,
        seed: int,
        shuffle: bool = True,
        as_: Literal["arrow"],
        state: Sequence[str] | None = None,
        action: str = "action",
        verdict: str | None = ACCEPTED,
        task: str | None = None,
    ) -> Iterator[pa.RecordBatch]: ...

    def transitions(
        self,
        batch_size: int,
        *,
        seed: int,
        shuffle: bool = True,
        as_: Literal["numpy", "arrow"] = "numpy",
        state: Sequence[str] | None = None,
        action: str = "action",
        verdict: str | None = ACCEPTED,
        task: str | None = None,
    ) -> Iterator[TransitionBatch] | Iterator[pa.RecordBatch]:
        """Yield one epoch of (state, action, next state, terminal) batches.

        Args:
            batch_size: transitions in a batch; the last batch may have fewer.
            seed: seed of the shuffling.
            as_: `numpy` yields TransitionBatch, `arrow` yields record batches with one column per feature.
            state: features that are concatenated to the state. Default: `observation.state` (joints) and
                `observation.environment_state` (poses of object and goal), as far as the dataset has them.
            action: the feature that is the action.
            verdict: use episodes with this verdict only; None uses all stored episodes.
            task: use episodes of this task only, e.g. `stack`; `task_names` has all. None uses all tasks.
        """
        if task is not None and task not in self.task_names:
            raise UsageError(f"{self.path}: task: {task!r} was given; {nearest(task, self.task_names)}")
        features = state_features(self.header, state)
        batches = transitions(
            self, batch_size, seed=seed, shuffle=shuffle, state=features, action=action, verdict=verdict, task=task
        )
        return batches if as_ == "numpy" else (batch.to_arrow(action) for batch in batches)


def shard_episodes_of(folder: Path) -> int | None:
    """Episodes in a shard of the dataset in a folder; None if there is no dataset."""
    return Header.read(folder / HEADER).shard_episodes if (folder / HEADER).is_file() else None

"""data/ of the LeRobot export: the frames of all shards, with continuous numbering."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from twinloop.durable import DurableFile, FileDigest

from ._parquet_splice import SplicedWriter
from .manifest import ShardEntry
from .parquet import encode, frame_field, frame_options, to_column, to_numpy
from .reader import Dataset
from .stats import sampled_rows

# Columns that LeRobot adds to every frame, besides the recorded features.
COUNTERS: dict[str, Literal["float32", "int64"]] = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
CHUNK_FILES = 1000


@dataclass(frozen=True)
class DataFile:
    """One file of data/. It contains complete shards.

    Attributes:
        number: number of the file, from 0.
        entries: the shards in the file.
        first_episode, first_frame: episodes and frames in all earlier files.
    """

    number: int
    entries: tuple[ShardEntry, ...]
    first_episode: int
    first_frame: int

    @property
    def chunk_index(self) -> int:
        return self.number // CHUNK_FILES

    @property
    def file_index(self) -> int:
        return self.number % CHUNK_FILES

    @property
    def path(self) -> str:
        return f"data/chunk-{self.chunk_index:03d}/file-{self.file_index:03d}.parquet"


@dataclass(frozen=True)
class DataExport:
    """The written data files.

    Attributes:
        files: path -> digest.
        sample: column -> values of a sample of frames of the whole dataset, for quantiles.
    """

    files: Mapping[str, FileDigest]
    sample: Mapping[str, np.ndarray]


def data_file_plan(entries: Sequence[ShardEntry], file_bytes: int) -> list[DataFile]:
    """Assign shards to files of at most `file_bytes`. The plan is made first, so files can be written in parallel."""
    plan: list[DataFile] = []
    group: list[ShardEntry] = []
    episode = frame = 0
    for entry in [*(entry for entry in entries if entry.frames), None]:
        size = sum(member.files["frames.parquet"].bytes for member in group)
        if group and (entry is None or size + entry.files["frames.parquet"].bytes > file_bytes):
            plan.append(DataFile(len(plan), tuple(group), episode, frame))
            episode += sum(member.stored for member in group)
            frame += sum(member.frames for member in group)
            group = []
        if entry is not None:
            group.append(entry)
    return plan


def write_data(dataset: Dataset, out: Path, plan: Sequence[DataFile], tasks: Mapping[str, int]) -> DataExport:
    (out / "data").mkdir(parents=True, exist_ok=True)
    for chunk in {file.chunk_index for file in plan}:
        (out / f"data/chunk-{chunk:03d}").mkdir(exist_ok=True)
    # Threads suffice, because decoding, encoding and hashing release the GIL. Results are in order of the plan.
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        done = list(pool.map(lambda file: _write_file(dataset, out, file, tasks), plan))
    samples = [sample for _, parts in done for sample in parts]
    names = samples[0] if samples else ()
    return DataExport(
        files={file.path: digest for file, (digest, _) in zip(plan, done, strict=True)},
        sample={name: np.concatenate([sample[name] for sample in samples]) for name in names},
    )


def _write_file(
    dataset: Dataset, out: Path, file: DataFile, tasks: Mapping[str, int]
) -> tuple[FileDigest, list[dict[str, np.ndarray]]]:
    fields = [frame_field(feature) for feature in dataset.header.columns]
    fields += [pa.field(name, pa.type_for_alias(alias), nullable=False) for name, alias in COUNTERS.items()]
    schema = pa.schema(fields)
    samples = []
    frame = file.first_frame
    with DurableFile(out / file.path) as sink:
        writer = SplicedWriter(sink, schema, _options(schema))
        for table, columns in _read_ahead(dataset, file, schema, tasks):
            writer.append(columns)
            rows = sampled_rows(frame, frame + table.num_rows, dataset.frame_count) - frame
            samples.append({name: to_numpy(table[name])[rows] for name in schema.names})
            frame += table.num_rows
        writer.close()
    return sink.digest, samples


def _options(schema: pa.Schema) -> dict:
    return frame_options(schema, ordered=["episode_index", "index"])


NumberedShard = tuple[pa.Table, list[memoryview]]
"""The frames of a shard with their counters, and Parquet files that have the same columns."""


def _read_ahead(
    dataset: Dataset, file: DataFile, schema: pa.Schema, tasks: Mapping[str, int]
) -> Iterator[NumberedShard]:
    """Yield the shards of a file. The next shard is read while the caller writes the current one."""
    episode, frame = file.first_episode, file.first_frame
    pending: Future[NumberedShard] | None = None
    with ThreadPoolExecutor(max_workers=1) as reader:
        for entry in file.entries:
            begun = reader.submit(_numbered, dataset, entry, schema, tasks, episode=episode, frame=frame)
            if pending is not None:
                yield pending.result()
            pending = begun
            episode += entry.stored
            frame += entry.frames
        if pending is not None:
            yield pending.result()


def _numbered(
    dataset: Dataset,
    entry: ShardEntry,
    schema: pa.Schema,
    tasks: Mapping[str, int],
    *,
    episode: int,
    frame: int,
) -> NumberedShard:
    frames = dataset.frames(entry)
    episodes = dataset.episodes(entry, ["task", "length"])
    lengths = to_numpy(episodes["length"])
    stored = np.flatnonzero(lengths)
    task_texts = episodes["task"].to_pylist()
    task_index = np.array([tasks[task_texts[row]] for row in stored], np.int64)
    counters = {
        "episode_index": np.repeat(np.arange(episode, episode + entry.stored), lengths[stored]),
        "index": np.arange(frame, frame + entry.frames),
        "task_index": np.repeat(task_index, lengths[stored]),
    }
    columns = {name: to_column(values, schema.field(name)) for name, values in counters.items()}
    table = pa.table([columns[name] if name in columns else frames[name] for name in schema.names], schema=schema)
    recorded = [name for name in schema.names if name not in counters]
    if all(frames.schema.field(name).equals(schema.field(name)) for name in recorded):
        # The counters are encoded; the recorded columns are copied from the shard's file.
        numbers = table.select(list(counters))
        return table, [dataset.frames_file(entry), memoryview(encode(numbers, _options(numbers.schema)))]
    return table, [memoryview(encode(table, _options(schema)))]

"""Merge datasets of one schema into one dataset. Each attempt keeps a reference to its origin."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.durable import storage_errors
from twinloop.errors import DatasetError
from twinloop.observe.recording import Recording

from ._merge_videos import codec_differences, copied_pictures
from .columns import STATS_PREFIX
from .header import Header
from .identity import differences
from .manifest import ShardEntry
from .parquet import to_numpy
from .pictures import PictureFiles
from .reader import Dataset
from .shard import write_shard
from .writer import DatasetWriter

SCHEMA = ("robot", "fps", "phases", "subtasks", "features")  # must be equal in all merged datasets

ORIGIN = {
    "origin": pa.string(),
    "origin_attempt": pa.int64(),
    "source": pa.string(),
    "seed": pa.int64(),
    "config_digest": pa.string(),
    "engine": pa.string(),
}


def merge(out: Path | str, inputs: Sequence[Path | str], *, name: str | None = None) -> str:
    """Merge the committed shards of `inputs` into a new dataset at `out` and return its digest.

    Attempts are renumbered in order of `inputs`. The column `origin` is the digest of the dataset that an attempt
    comes from, and `origin_attempt` is its attempt number there. Merging the result again keeps both.
    A merge that was killed resumes when it is run again.
    """
    out = Path(out)
    if not inputs:
        raise DatasetError(f"{out}: nothing to merge; give at least one dataset")
    datasets = [Dataset.open(path) for path in inputs]
    for other in datasets[1:]:
        _refuse_mismatch(datasets[0], other)
    header = _merged_header(datasets, name or out.name)
    columns = _merged_columns(datasets)
    config = "".join(f"# merged: {dataset.header.name} {dataset.digest()}\n" for dataset in datasets)
    with DatasetWriter.open(out, header, config, verify=True) as writer:
        missing = set(writer.missing())
        for (first, stop), parts in _cut(datasets, writer.plan()):
            if (first, stop) in missing:
                folder = writer.scratch(f"merge-{first}")
                recording = _recording(parts, header, first)
                episodes = _episodes(parts, columns, first)
                with storage_errors(out):
                    videos = _videos(parts, folder) if header.pictures else None
                draft = write_shard(folder, first, stop, recording, episodes, fps=header.fps, pictures=videos)
                writer.commit(draft)
        return writer.finish()


@dataclasses.dataclass(frozen=True)
class _Part:
    """A range of attempts of one input shard: `rows` of its episodes.parquet."""

    dataset: Dataset
    entry: ShardEntry
    rows: slice


def _refuse_mismatch(one: Dataset, other: Dataset) -> None:
    different = differences(one.header, other.header, SCHEMA) or codec_differences(one, other)
    if different:
        rows = [("", str(one.path), str(other.path)), *(dataclasses.astuple(difference) for difference in different)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        table = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        raise DatasetError("\n".join(["these datasets are incompatible and cannot be merged:", *table]))


def _merged_header(datasets: Sequence[Dataset], name: str) -> Header:
    headers = [dataset.header for dataset in datasets]
    counts = [entry.stop - entry.first for dataset in datasets for entry in dataset.entries]
    begins = tuple(int(begin) for begin in np.cumsum([0, *counts[:-1]])) if counts else ()
    digests = "\n".join(dataset.digest() for dataset in datasets)
    sources = {header.source for header in headers}
    versions: dict[str, str] = {}
    for key in sorted({key for header in headers for key in header.versions}):
        versions[key] = ", ".join(sorted({header.versions[key] for header in headers if key in header.versions}))
    return dataclasses.replace(
        headers[0],
        name=name,
        source=sources.pop() if len(sources) == 1 else "mixed",
        config_digest=hashlib.sha256(digests.encode()).hexdigest(),
        run_seed=0,
        shard_episodes=max(header.shard_episodes for header in headers),
        episodes=sum(counts),
        cuts=begins if headers[0].pictures else (),
        keep_rejected=any(header.keep_rejected for header in headers),
        versions=versions,
    )


def _merged_columns(datasets: Sequence[Dataset]) -> pa.Schema:
    try:
        schema = pa.unify_schemas([dataset.columns() for dataset in datasets], promote_options="permissive")
    except pa.ArrowException as error:
        raise DatasetError(f"a column of the attempts has different types in the datasets: {error}") from None
    own = [field for field in schema if field.name not in ORIGIN]
    return pa.schema([*own, *(pa.field(name, kind) for name, kind in ORIGIN.items())])


def _cut(datasets: Sequence[Dataset], plan: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], list[_Part]]]:
    """Yield, for each output shard, its range and the parts of input shards that it consists of, in order."""
    entries = [(dataset, entry) for dataset in datasets for entry in dataset.entries]
    begins = np.cumsum([0, *(entry.stop - entry.first for _, entry in entries)])
    for first, stop in plan:
        parts = []
        for index in range(np.searchsorted(begins, first, "right") - 1, np.searchsorted(begins, stop, "left")):
            begin, end = int(begins[index]), int(begins[index + 1])
            parts.append(_Part(*entries[index], slice(max(first, begin) - begin, min(stop, end) - begin)))
        yield (first, stop), parts


def _videos(parts: Sequence[_Part], folder: Path) -> PictureFiles:
    """Copy the videos of one shard. With images, each output shard is exactly one input shard."""
    (part,) = parts
    return copied_pictures(part.dataset, part.entry, folder)


def _recording(parts: Sequence[_Part], header: Header, first: int) -> Recording:
    lengths, tasks, frames = [], [], []
    for part in parts:
        table = part.dataset.episodes(part.entry, ["length", "task"])
        shard_lengths = to_numpy(table["length"])
        begin = int(shard_lengths[: part.rows.start].sum())
        lengths.append(shard_lengths[part.rows])
        tasks += table["task"].to_pylist()[part.rows]
        frames.append(part.dataset.frames(part.entry).slice(begin, int(lengths[-1].sum())))
    length = np.concatenate(lengths)
    stored = length > 0
    joined = pa.concat_tables(frames)
    return Recording(
        attempts=first + np.flatnonzero(stored),
        lengths=length[stored],
        tasks=tuple(task for task, kept in zip(tasks, stored, strict=True) if kept),
        features=header.features,
        frames={feature.name: to_numpy(joined[feature.name]) for feature in header.columns},
    )


def _episodes(parts: Sequence[_Part], schema: pa.Schema, first: int) -> dict[str, pa.Array]:
    tables = []
    for part in parts:
        table = part.dataset.episodes(part.entry)
        table = table.select([name for name in table.column_names if not name.startswith(STATS_PREFIX)])
        table = table.slice(part.rows.start, part.rows.stop - part.rows.start)
        tables.append(_with_origin(table, part.dataset))
    joined = pa.concat_tables(tables, promote_options="permissive")
    columns = {}
    for field in schema:
        present = field.name in joined.column_names
        values = joined[field.name].combine_chunks() if present else pa.nulls(joined.num_rows)
        columns[field.name] = values.cast(field.type)
    columns["attempt"] = pa.array(np.arange(first, first + joined.num_rows))
    return columns


def _with_origin(table: pa.Table, dataset: Dataset) -> pa.Table:
    header = dataset.header
    values = {
        "origin": dataset.digest(),
        "source": header.source,
        "seed": header.run_seed,
        "config_digest": header.config_digest,
        "engine": header.engine,
    }
    columns = {name: pa.array([value] * table.num_rows, ORIGIN[name]) for name, value in values.items()}
    columns["origin_attempt"] = table["attempt"]
    for name, column in columns.items():
        if name not in table.column_names:
            table = table.append_column(name, column)
    return table

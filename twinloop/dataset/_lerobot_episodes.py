"""meta/episodes/ of the LeRobot export: one row per episode, with its statistics and provenance."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.durable import DurableFile, FileDigest
from twinloop.observe.recording import Feature

from ._lerobot_data import CHUNK_FILES, DataFile
from ._lerobot_videos import video_columns
from .columns import STATS_PREFIX
from .header import Header
from .manifest import ShardEntry
from .parquet import EPISODE_OPTIONS, to_numpy
from .reader import Dataset
from .stats import STATS, Moments, ramp_stats

FILE_EPISODES = 1 << 14  # at about 5 kB per episode, a file is below LeRobot's limit of 100 MB
GROUP_EPISODES = 1 << 10  # per row group; there are many columns, so small groups have a high overhead


@dataclass
class EpisodeExport:
    """The written episode files.

    Attributes:
        moments: column -> running statistics, for stats.json.
        files: path -> digest.
    """

    moments: dict[str, Moments] = field(default_factory=dict)
    files: dict[str, FileDigest] = field(default_factory=dict)


def task_numbers(dataset: Dataset, plan: Sequence[DataFile]) -> dict[str, int]:
    """Return task text -> task_index, in order of first use by a stored episode."""
    tasks: dict[str, int] = {}
    for file in plan:
        for entry in file.entries:
            rows = dataset.episodes(entry, ["task", "length"])
            for text, length in zip(rows["task"].to_pylist(), rows["length"].to_pylist(), strict=True):
                if length:
                    tasks.setdefault(text, len(tasks))
    return tasks


def write_episodes(dataset: Dataset, out: Path, plan: Sequence[DataFile], tasks: Mapping[str, int]) -> EpisodeExport:
    export = EpisodeExport()
    schema = dataset.columns()
    stored = [(file, entry) for file in plan for entry in file.entries]
    episode = frame = 0
    for number, shards in enumerate(_in_groups(stored, FILE_EPISODES)):
        chunk, index = divmod(number, CHUNK_FILES)
        path = f"meta/episodes/chunk-{chunk:03d}/file-{index:03d}.parquet"
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        with DurableFile(out / path) as sink, ExitStack() as closing:
            writer = None  # created with the schema of the first table
            for group in _in_groups(shards, GROUP_EPISODES):
                columns = _columns(dataset, group, schema, tasks, export, episode=episode, frame=frame)
                count = len(columns["length"])
                columns["meta/episodes/chunk_index"] = pa.array(np.full(count, chunk))
                columns["meta/episodes/file_index"] = pa.array(np.full(count, index))
                table = pa.table(columns)
                if writer is None:
                    writer = closing.enter_context(pq.ParquetWriter(sink, table.schema, **EPISODE_OPTIONS))
                writer.write_table(table, row_group_size=count)
                episode += count
                frame += sum(entry.frames for _, entry in group)
        export.files[path] = sink.digest
    return export


def _in_groups(
    shards: Sequence[tuple[DataFile, ShardEntry]], episodes: int
) -> Iterator[list[tuple[DataFile, ShardEntry]]]:
    """Yield groups of consecutive shards with at most `episodes` stored episodes. A larger shard is its own group."""
    group: list[tuple[DataFile, ShardEntry]] = []
    for shard in shards:
        if group and sum(entry.stored for _, entry in group) + shard[1].stored > episodes:
            yield group
            group = []
        group.append(shard)
    if group:
        yield group


def _columns(
    dataset: Dataset,
    group: Sequence[tuple[DataFile, ShardEntry]],
    schema: pa.Schema,
    tasks: Mapping[str, int],
    export: EpisodeExport,
    *,
    episode: int,
    frame: int,
) -> dict[str, pa.Array]:
    tables = [dataset.episodes(entry) for _, entry in group]
    rows = pa.concat_tables(tables, promote_options="permissive")
    rows = rows.filter(pa.array(to_numpy(rows["length"]) > 0)).combine_chunks()
    count, lengths = rows.num_rows, to_numpy(rows["length"])
    task_texts = rows["task"].to_pylist()
    task_index = np.array([tasks[text] for text in task_texts], np.int64)
    starts = frame + np.cumsum(lengths) - lengths
    numbers = np.arange(episode, episode + count)

    stats = {feature.name: _stored_stats(rows, feature, count) for feature in dataset.header.features}
    stats["timestamp"] = ramp_stats(np.zeros(count), 1 / dataset.header.fps, lengths)
    stats["frame_index"] = ramp_stats(np.zeros(count), 1.0, lengths)
    stats["episode_index"] = ramp_stats(numbers, 0.0, lengths)
    stats["index"] = ramp_stats(starts, 1.0, lengths)
    stats["task_index"] = ramp_stats(task_index, 0.0, lengths)
    for name, values in stats.items():
        export.moments.setdefault(name, Moments()).add(values, lengths)

    stored = [entry.stored for _, entry in group]
    task_lists = pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32), pa.array(task_texts, pa.string()))
    return {
        "episode_index": pa.array(numbers),
        "tasks": task_lists,
        "length": pa.array(lengths),
        "data/chunk_index": pa.array(np.repeat([file.chunk_index for file, _ in group], stored)),
        "data/file_index": pa.array(np.repeat([file.file_index for file, _ in group], stored)),
        "dataset_from_index": pa.array(starts),
        "dataset_to_index": pa.array(starts + lengths),
        **video_columns(dataset, [entry for _, entry in group], lengths),
        **_provenance(rows, dataset.header, schema),
        **_stat_columns(stats, lengths, pictures={feature.name for feature in dataset.header.pictures}),
    }


def _stored_stats(rows: pa.Table, feature: Feature, count: int) -> np.ndarray:
    flat = rows[STATS_PREFIX + feature.name].combine_chunks().flatten()
    stats = flat.to_numpy().reshape(count, len(STATS), -1)
    # lerobot decodes a mask to three equal channels, so its statistics are exported that way.
    return stats.repeat(3, axis=2) if feature.dtype == "mask" else stats


def _provenance(rows: pa.Table, header: Header, schema: pa.Schema) -> dict[str, pa.Array]:
    """Return the `sim/...` columns of the episodes.

    Seed, config digest and engine come from the rows of a merged dataset, and from the header of any other.
    """
    made_by = {
        "seed": header.run_seed,
        "config_digest": header.config_digest,
        "engine": header.engine,
    }
    out = {f"sim/{name}": pa.array([value] * rows.num_rows) for name, value in made_by.items()}
    for column in schema:
        if column.name in ("task", "length"):  # exported in LeRobot's own columns
            continue
        # A column of nulls has no type, but LeRobot's loader needs the same type in all files.
        kind = pa.string() if pa.types.is_null(column.type) else column.type
        present = column.name in rows.column_names
        values = rows[column.name].chunk(0).cast(kind) if present else pa.nulls(rows.num_rows, kind)
        out[f"sim/{column.name}"] = values
    return out


def _stat_columns(stats: Mapping[str, np.ndarray], lengths: np.ndarray, *, pictures: Set[str]) -> dict[str, pa.Array]:
    out = {}
    ones = pa.array(np.arange(len(lengths) + 1, dtype=np.int32))
    for name, values in stats.items():
        width = values.shape[2]
        offsets = pa.array(np.arange(len(lengths) + 1, dtype=np.int32) * width)
        for index, stat in enumerate(STATS):
            column = pa.array(np.ascontiguousarray(values[:, index]).reshape(-1))
            if name in pictures:  # LeRobot's shape is (channels, 1, 1)
                alone = pa.array(np.arange(len(column) + 1, dtype=np.int32))
                column = pa.ListArray.from_arrays(alone, pa.ListArray.from_arrays(alone, column))
            out[f"stats/{name}/{stat}"] = pa.ListArray.from_arrays(offsets, column)
        out[f"stats/{name}/count"] = pa.ListArray.from_arrays(ones, pa.array(lengths))
    return out

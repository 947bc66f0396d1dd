"""Common parts of LeRobot v2.1 and v3.0 folders: info.json, features, and rows in Parquet."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.dataset import depth
from twinloop.dataset.header import CHANNELS
from twinloop.dataset.ingest.mapping import ColumnMap
from twinloop.dataset.ingest.outside import MOST_EPISODES, MOST_ROWS, inside, text_inside
from twinloop.dataset.ingest.source import Outcome, PictureFormat, Unreadable
from twinloop.errors import DatasetError

COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
NUMBERS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")
MOST_WIDTH = 100_000
MAX_NESTING = 8
INFO = "meta/info.json"


@dataclass(frozen=True)
class Info:
    """The content of info.json.

    Attributes:
        numbers: numeric feature -> its width.
        names: numeric feature -> names of its elements.
        looks: image feature -> its format.
        left_out: feature that is not read -> reason.
    """

    version: str
    rate_hz: float
    robot: str
    episodes: int
    chunks_size: int
    data_path: str
    video_path: str
    numbers: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    looks: Mapping[str, PictureFormat]
    left_out: Mapping[str, str]


def read_json(root: Path, name: str) -> Any:
    try:
        return json.loads(text_inside(root, root / name))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{root / name}: is not JSON ({error})") from None


def read_info(root: Path) -> Info:
    where, values = root / INFO, read_json(root, INFO)
    if not isinstance(values, dict) or not isinstance(values.get("features"), dict):
        raise DatasetError(f"{where}: a mapping with `features` was expected")
    version, rate, episodes = values.get("codebase_version"), values.get("fps"), values.get("total_episodes")
    if version not in ("v2.0", "v2.1", "v3.0"):
        raise DatasetError(f"{where}: codebase_version {version!r}; v2.0, v2.1 and v3.0 are supported")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate <= 1e5:
        raise DatasetError(f"{where}: fps {rate!r}; a number above 0 was expected")
    if isinstance(episodes, bool) or not isinstance(episodes, int) or not 0 <= episodes <= MOST_EPISODES:
        raise DatasetError(f"{where}: total_episodes {episodes!r}; a whole number up to {MOST_EPISODES:,} was expected")
    chunks = values.get("chunks_size", 1000)
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:
        raise DatasetError(f"{where}: chunks_size {chunks!r}; a whole number of at least 1 was expected")
    numbers, names, looks, left_out = {}, {}, {}, {}
    for name, feature in values["features"].items():
        if name in COUNTERS:
            continue
        try:
            kind, shape = str(feature["dtype"]), [int(side) for side in feature["shape"]]
            if kind in ("video", "image"):
                looks[name] = _look(kind, shape, feature)
            elif kind in NUMBERS:
                width = int(np.prod(shape, dtype=np.int64)) if shape else 1
                if not 1 <= width <= MOST_WIDTH or any(side < 1 for side in shape):
                    raise ValueError(f"shape {shape}")
                numbers[name], names[name] = width, _names(feature.get("names"), width)
            else:
                left_out[name] = f"{kind} is not a number"
        except _LeftOut as why:
            left_out[name] = str(why)
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{where}: features.{name}: dtype and shape were expected ({error})") from None
    return Info(
        version=version, rate_hz=float(rate), robot=str(values.get("robot_type") or ""), episodes=episodes,
        chunks_size=chunks, data_path=str(values.get("data_path") or ""),
        video_path=str(values.get("video_path") or ""), numbers=numbers, names=names, looks=looks, left_out=left_out,
    )  # fmt: skip


class _LeftOut(Exception):
    pass


def _look(kind: str, shape: list[int], feature: dict) -> PictureFormat:
    if kind == "image":
        raise _LeftOut("images inside Parquet files are not supported, only videos")
    facts = {**(feature.get("video_info") or {}), **(feature.get("info") or {})}
    names = feature.get("names") or []
    if len(shape) != 3:
        raise ValueError(f"shape {shape}")
    if isinstance(names, list) and names[:1] in (["channel"], ["channels"], ["c"]):  # some write CHW
        shape = [*shape[1:], shape[0]]
    if facts.get("video.is_mask"):
        return PictureFormat("mask", shape[0], shape[1], tuple(map(str, facts.get("mask_names") or ())))
    if facts.get("video.is_depth_map") or facts.get("is_depth_map"):
        ours = (depth.NEAREST_M, depth.FARTHEST_M, depth.SHIFT_M)
        given = tuple(
            facts.get(f"video.{key}", own) for key, own in zip(("depth_min", "depth_max", "shift"), ours, strict=True)
        )
        if given != ours:
            raise _LeftOut("its depth is quantised over an unsupported range")
        return PictureFormat("depth", shape[0], shape[1])
    if shape[2] != CHANNELS["video"]:
        raise _LeftOut(f"has {shape[2]} channels; 3 were expected")
    return PictureFormat("video", shape[0], shape[1])


def _names(value: Any, width: int) -> tuple[str, ...]:
    """The element names of a feature: a list, a nested list, or a mapping of groups to lists. () if they do not fit."""
    names = _flat_names(value)
    if isinstance(value, dict) and len(names) != width:
        names = next((part for part in map(_flat_names, value.values()) if len(part) == width), ())
    if len(set(names)) < len(names) and isinstance(value, dict):  # left: [j1, j2], right: [j1, j2]
        names = tuple(f"{group}.{name}" for group, part in value.items() for name in _flat_names(part))
    return names if len(names) == width else ()


def _flat_names(value: Any, level: int = 0) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list) or level > MAX_NESTING:
        return ()
    return tuple(name for part in value for name in _flat_names(part, level + 1))


def default_columns(info: Info) -> tuple[ColumnMap, ...]:
    return tuple(ColumnMap(name, (name,), info.names[name]) for name in info.numbers)


def read_rows(root: Path, path: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file, with those of the given columns that it has."""
    file_path = inside(root, path)
    try:
        with pq.ParquetFile(file_path, pre_buffer=False) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise Unreadable(f"{path}: has {file.metadata.num_rows:,} rows; the maximum is {MOST_ROWS:,}")
            have = set(file.schema_arrow.names)
            wanted = None if columns is None else [name for name in columns if name in have]
            return file.read(wanted, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"{path}: cannot be read as Parquet ({error})") from None


def to_arrays(table: pa.Table, info: Info, *, where: str) -> dict[str, np.ndarray]:
    """Feature -> (rows,) or (rows, width) as recorded, with NaN for null. Ragged lists raise Unreadable."""
    out = {}
    for name, width in info.numbers.items():
        if name not in table.column_names:
            raise Unreadable(f"{where}: has no column {name}", check="ragged_columns")
        column = table[name].combine_chunks()
        out[name] = _flat(column, width, f"{where}: {name}")
    return out


def _flat(column: pa.Array, width: int, where: str) -> np.ndarray:
    rows = len(column)
    lists = False
    while (
        pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type)
    ):
        if column.null_count:
            raise Unreadable(f"{where} is missing in {column.null_count} rows", check="ragged_columns")
        column, lists = column.flatten(), True
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        raise Unreadable(f"{where} has type {column.type}; numbers were expected", check="ragged_columns")
    if len(column) != rows * width:
        counts = f"{len(column):,} numbers in {rows:,} rows of {width}"
        raise Unreadable(f"{where} is ragged: {counts}", check="ragged_columns")
    if column.null_count:
        column = column.cast(pa.float64())
    values = column.to_numpy(zero_copy_only=False)
    return values.reshape(rows, width) if lists or width > 1 else values


def clock(table: pa.Table) -> np.ndarray | None:
    if "timestamp" not in table.column_names:
        return None
    column = table["timestamp"].combine_chunks()
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        column = column.flatten()
    if len(column) != table.num_rows or not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return None
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def outcome_of(columns: Mapping[str, np.ndarray]) -> tuple[Outcome, str]:
    """(outcome, who determined it), from the column `next.success` if there is one."""
    flags = columns.get("next.success")
    if flags is None or not len(flags):
        return "unknown", ""
    return ("success" if bool(flags.reshape(-1)[-1]) else "failure"), "detector"

"""Read logs from a LeRobot dataset, v2.1 or v3.0: the low-dimensional columns of every episode.

This reader accepts more than `dataset/ingest`: any part of a dataset is read, even if the lists in its meta folder do
not match the files.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinloop.calibrate.logs.log import Log
from twinloop.calibrate.people import INFO, ask_people
from twinloop.durable import digest_file, read_bounded
from twinloop.errors import DatasetError

MAX_BYTES = 16 * 1024 * 1024
EPISODE, TIME = "episode_index", "timestamp"


def read_lerobot_logs(path: Path, *, rate_hz: float) -> list[tuple[Path, Log]]:
    """(dataset, log) pairs of the dataset at `path`, of the datasets in it, or of one Parquet file.

    Args:
        rate_hz: frames a second for files without a rate and without timestamps; NaN if it is not known.
    """
    if path.is_file():
        ask_people(path)
        return _of_files([path], *_facts(_root_of(path), rate_hz))
    roots = [path] if (path / INFO).is_file() else sorted(info.parents[1] for info in path.rglob(str(INFO)))
    logs: list[tuple[Path, Log]] = []
    for root in roots:
        files = sorted((root / "data").rglob("*.parquet"))
        if not files:
            raise DatasetError(f"{root}: is a LeRobot dataset without Parquet files under data/")
        ask_people(root)
        logs += [(root, log) for _, log in _of_files(files, *_facts(root, rate_hz))]
    if not roots:
        files = sorted(file for file in path.rglob("*.parquet") if "meta" not in file.parts)
        if not files:
            raise DatasetError(f"{path}: has no {INFO} and no Parquet file; the bench file declares a LeRobot dataset")
        ask_people(files[0])
        logs = _of_files(files, *_facts(_root_of(files[0]), rate_hz))
    return logs


def _root_of(file: Path) -> Path | None:
    """The dataset folder above a Parquet file, if there is one."""
    return next((folder for folder in file.absolute().parents if (folder / INFO).is_file()), None)


def _facts(root: Path | None, rate_hz: float) -> tuple[dict[str, tuple[str, ...]], float]:
    """Feature -> names of its elements, and frames a second."""
    if root is None:
        return {}, rate_hz
    try:
        info = json.loads(read_bounded(root / INFO, MAX_BYTES, error=DatasetError))
        names = {name: named for name, feature in info["features"].items() if (named := _names(feature)) is not None}
        return names, float(info["fps"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DatasetError(f"{root / INFO}: is not the info file of a LeRobot dataset: {error!r}") from None


def _names(feature: dict[str, Any]) -> tuple[str, ...] | None:
    names = feature.get("names")
    # Some writers nest the list under a key, as {"motors": [...]}.
    if isinstance(names, dict):
        lists = [value for value in names.values() if isinstance(value, list)]
        names = lists[0] if len(lists) == 1 else None
    return tuple(map(str, names)) if isinstance(names, list) and names else None


def _of_files(files: list[Path], names: dict[str, tuple[str, ...]], rate_hz: float) -> list[tuple[Path, Log]]:
    logs = [(file, log) for file in files for log in _episodes(file, names, rate_hz)]
    if not logs:
        raise DatasetError(f"{files[0].parent}: its Parquet files contain no episodes")
    return sorted(logs, key=lambda pair: pair[1].constants[EPISODE])


def _episodes(file: Path, names: dict[str, tuple[str, ...]], rate_hz: float) -> list[Log]:
    try:
        wanted = [field.name for field in pq.read_schema(file) if field.name == EPISODE or _is_numbers(field.type)]
        table = pq.read_table(file, columns=wanted)
        columns = {name: _matrix(table[name]) for name in wanted}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DatasetError(f"{file}: cannot be read as an episode file: {error}") from None
    episodes = columns.pop(EPISODE)[:, 0] if EPISODE in columns else np.zeros(table.num_rows)
    digest = digest_file(file).sha256
    logs = []
    for episode in np.unique(episodes[np.isfinite(episodes)]):
        rows = episodes == episode
        of_episode = {name: column[rows] for name, column in columns.items()}
        if TIME not in of_episode and not rate_hz > 0:
            raise DatasetError(
                f"{file}: has no column {TIME!r} and no {INFO} with its rate; add `rate_hz` to `logs` in the bench file"
            )
        time_s = of_episode[TIME][:, 0] if TIME in of_episode else np.arange(rows.sum()) / rate_hz
        name = f"episode_{int(episode):06d}" if EPISODE in table.column_names else file.stem
        logs.append(Log(name, time_s, of_episode, {EPISODE: float(episode)}, names, digest))
    return logs


def _is_numbers(kind: pa.DataType) -> bool:
    """Whether a column holds one float per row, or a list of floats."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.types.is_floating(kind.value_type)
    return pa.types.is_floating(kind)


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    whole = column.combine_chunks()
    if pa.types.is_floating(whole.type) or pa.types.is_integer(whole.type):
        return np.asarray(whole.to_numpy(zero_copy_only=False), float)[:, None]
    lengths = pc.call_function("list_value_length", [whole])
    width = int(np.max(lengths.drop_null().to_numpy(zero_copy_only=False), initial=0))
    flat = np.asarray(whole.flatten().to_numpy(zero_copy_only=False), float)
    if not whole.null_count and len(flat) == len(whole) * width:
        return flat.reshape(len(whole), width)
    # Missing numbers become NaN and keep their row.
    rows = np.full((len(whole), width), np.nan)
    for place, row in enumerate(whole.to_pylist()):
        rows[place, : len(row or ())] = [np.nan if value is None else value for value in row or ()]
    return rows

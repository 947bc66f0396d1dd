"""Logs that are a LeRobot dataset, v2.1 or v3.0: the low-dimensional columns of every episode."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.calibrate.logs.log import Log
from twinloop.durable import digest_file, read_bounded
from twinloop.errors import DatasetError

MOST_BYTES = 16 * 1024 * 1024
INFO = Path("meta") / "info.json"


def read_lerobot_logs(folder: Path) -> list[Log]:
    try:
        info = json.loads(read_bounded(folder / INFO, MOST_BYTES, error=DatasetError))
        features: dict[str, Any] = info["features"]
        rate_hz = float(info["fps"])
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{folder / INFO}: not the facts of a LeRobot dataset: {error}") from None
    wanted = [
        name for name, feature in features.items()
        if str(feature.get("dtype", "")).startswith("float") and len(feature.get("shape", [])) <= 1
    ]  # fmt: skip
    names = {name: tuple(map(str, named)) for name in wanted if (named := _names(features[name])) is not None}
    files = sorted((folder / "data").rglob("*.parquet"))
    if not files:
        raise DatasetError(f"{folder}: a LeRobot dataset without any Parquet file under data/")
    logs: list[Log] = []
    for file in files:
        logs += _episodes(file, wanted, names, rate_hz)
    return sorted(logs, key=lambda log: log.constants["episode_index"])


def _names(feature: dict[str, Any]) -> list[Any] | None:
    names = feature.get("names")
    # Some writers keep one list below a word, as {"motors": [...]}.
    if isinstance(names, dict):
        lists = [value for value in names.values() if isinstance(value, list)]
        names = lists[0] if len(lists) == 1 else None
    return names if isinstance(names, list) and names else None


def _episodes(file: Path, wanted: list[str], names: dict[str, tuple[str, ...]], rate_hz: float) -> list[Log]:
    try:
        schema = pq.read_schema(file)
        present = [name for name in wanted if name in schema.names]
        table = pq.read_table(file, columns=[*present, "episode_index"])
    except (pa.ArrowException, OSError, KeyError) as error:
        raise DatasetError(f"{file}: cannot be read as an episode file: {error}") from None
    columns = {name: _matrix(table[name]) for name in present}
    episodes = table["episode_index"].to_numpy()
    digest = digest_file(file).sha256
    logs = []
    for episode in np.unique(episodes):
        rows = episodes == episode
        of_episode = {name: column[rows] for name, column in columns.items()}
        time_s = of_episode["timestamp"][:, 0] if "timestamp" in of_episode else np.arange(rows.sum()) / rate_hz
        facts = {"episode_index": float(episode)}
        logs.append(Log(f"episode_{episode:06d}", time_s, of_episode, facts, names, digest))
    return logs


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    whole = column.combine_chunks()
    if pa.types.is_list(whole.type) or pa.types.is_fixed_size_list(whole.type):
        return np.asarray(whole.flatten().to_numpy(zero_copy_only=False), float).reshape(len(whole), -1)
    return np.asarray(whole.to_numpy(zero_copy_only=False), float)[:, None]

"""Read logs from JSON files: constants, and a list of rows with the same keys."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.calibrate.logs.log import Log
from twinloop.durable import digest_file, read_bounded
from twinloop.errors import DatasetError

MAX_BYTES = 256 * 1024 * 1024


def read_json_log(path: Path, *, rows: str, time: str, rate_hz: float) -> Log:
    """The log of one JSON file.

    Args:
        rows: key of the list of rows.
        time: key of the time in seconds; empty if there is none. Then rows are 1 / `rate_hz` apart.
    """
    try:
        value = json.loads(read_bounded(path, MAX_BYTES, error=DatasetError))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: is not JSON: {error}") from None
    entries = value.get(rows) if isinstance(value, dict) else value
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise DatasetError(f"{path}: has no list of rows under {rows!r} (`logs.rows` of the bench file)")
    keys = dict.fromkeys(key for entry in entries for key, value in entry.items() if _is_number(value))
    # A missing number becomes NaN and keeps its row.
    columns = {key: np.array([[_number(entry.get(key))] for entry in entries]) for key in keys}
    if time and not (time in columns and np.isfinite(columns[time]).all()):
        raise DatasetError(f"{path}: some rows have no number {time!r} (`logs.time` of the bench file)")
    time_s = columns[time][:, 0] if time else np.arange(len(entries)) / rate_hz
    head = value if isinstance(value, dict) else {}
    constants = {key: float(entry) for key, entry in head.items() if _is_number(entry)}
    return Log(path.stem, time_s, columns, constants, digest=digest_file(path).sha256)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else math.nan

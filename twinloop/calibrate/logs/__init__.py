"""Readers of logs: CSV, JSON, NumPy and LeRobot files, and datasets of this project, become a list of Log."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from twinloop.calibrate.logs.arrays import read_array_logs
from twinloop.calibrate.logs.csv_rows import read_csv_log
from twinloop.calibrate.logs.json_rows import read_json_log
from twinloop.calibrate.logs.lerobot import read_lerobot_logs
from twinloop.calibrate.logs.log import Log
from twinloop.calibrate.logs.own import is_own, read_own_logs
from twinloop.errors import DatasetError, nearest

__all__ = ["FORMATS", "Log", "read_logs"]

FORMATS = ("csv", "json", "lerobot", "npz")


def read_logs(path: Path, *, format: str, files: str, rows: str, time: str, rate_hz: float) -> list[Log]:
    """All logs in a folder and its sub-folders, or in one file, ordered by name.

    Args:
        format: one of `FORMATS`.
        files: pattern of file names.
        rows: key of the list of rows in a JSON file.
        time: column with the time in seconds; empty if there is none.
        rate_hz: frames a second where there is no time; NaN if it is not known.
    """
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder of logs")
    if format == "lerobot" and is_own(path):
        return read_own_logs(path)
    if format == "lerobot":
        return _with_unique_names(read_lerobot_logs(path, rate_hz=rate_hz))
    paths = [path] if path.is_file() else sorted(file for file in path.rglob(files) if file.is_file())
    if not paths:
        raise DatasetError(f"{path}: no file matches {files!r} (`logs.files` of the bench file)")
    if format == "json":
        logs = [(file, read_json_log(file, rows=rows, time=time, rate_hz=rate_hz)) for file in paths]
    elif format == "csv":
        logs = [(file, read_csv_log(file, time=time, rate_hz=rate_hz)) for file in paths]
    elif format == "npz":
        logs = [(file, log) for file in paths for log in read_array_logs(file, rate_hz=rate_hz)]
    else:
        raise DatasetError(f"unknown log format {format!r}; {nearest(format, FORMATS)}")
    return _with_unique_names(logs)


def _with_unique_names(logs: list[tuple[Path, Log]]) -> list[Log]:
    """Add the file or folder to the name of logs that share one, then a number."""
    names = Counter(log.name for _, log in logs)
    prefixed = [replace(log, name=f"{file.stem}/{log.name}") if names[log.name] > 1 else log for file, log in logs]
    names = Counter(log.name for log in prefixed)
    seen: Counter[str] = Counter()
    unique = []
    for log in prefixed:
        seen[log.name] += 1
        unique.append(replace(log, name=f"{log.name} ({seen[log.name]})") if names[log.name] > 1 else log)
    return unique

"""Readers of logs: whatever a folder holds becomes a list of Log."""

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
    """Every log of a folder and the folders in it (or the one file that is named), in the order of their names."""
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder of logs")
    if format == "lerobot" and is_own(path):
        return read_own_logs(path)
    if format == "lerobot":
        return _told_apart(read_lerobot_logs(path, rate_hz=rate_hz))
    found = [path] if path.is_file() else sorted(file for file in path.rglob(files) if file.is_file())
    if not found:
        raise DatasetError(f"{path}: no file is named like {files!r}, as `logs.files` of the bench file says")
    if format == "json":
        logs = [(file, read_json_log(file, rows=rows, time=time, rate_hz=rate_hz)) for file in found]
    elif format == "csv":
        logs = [(file, read_csv_log(file, time=time, rate_hz=rate_hz)) for file in found]
    elif format == "npz":
        logs = [(file, log) for file in found for log in read_array_logs(file, rate_hz=rate_hz)]
    else:
        raise DatasetError(f"{format!r} is no format of logs; {nearest(format, FORMATS)}")
    return _told_apart(logs)


def _told_apart(logs: list[tuple[Path, Log]]) -> list[Log]:
    """Logs of several files or folders may have the same name; then where they come from is part of it."""
    many = Counter(log.name for _, log in logs)
    apart = [replace(log, name=f"{file.stem}/{log.name}") if many[log.name] > 1 else log for file, log in logs]
    many = Counter(log.name for log in apart)
    count: Counter[str] = Counter()
    named = []
    for log in apart:
        count[log.name] += 1
        named.append(replace(log, name=f"{log.name} ({count[log.name]})") if many[log.name] > 1 else log)
    return named

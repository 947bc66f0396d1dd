"""Readers of logs: whatever a folder holds becomes a list of Log."""

from pathlib import Path

from twinloop.calibrate.logs.arrays import read_array_logs
from twinloop.calibrate.logs.json_rows import read_json_log
from twinloop.calibrate.logs.lerobot import INFO, read_lerobot_logs
from twinloop.calibrate.logs.log import Log
from twinloop.errors import DatasetError, nearest

__all__ = ["FORMATS", "Log", "read_logs"]

FORMATS = ("json", "lerobot", "npz")


def read_logs(path: Path, *, format: str, files: str, rows: str, time: str, rate_hz: float) -> list[Log]:
    """Every log of a folder (or the one file that is named), in the order of their names."""
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder of logs")
    if format == "lerobot":
        if not (path / INFO).is_file():
            raise DatasetError(f"{path}: no {INFO}; the bench file says these logs are a LeRobot dataset")
        return read_lerobot_logs(path)
    found = [path] if path.is_file() else sorted(path.glob(files))
    if not found:
        raise DatasetError(f"{path}: no file is named like {files!r}, as `logs.files` of the bench file says")
    if format == "json":
        return [read_json_log(file, rows=rows, time=time, rate_hz=rate_hz) for file in found]
    if format == "npz":
        return [log for file in found for log in read_array_logs(file, rate_hz=rate_hz)]
    raise DatasetError(f"{format!r} is no format of logs; {nearest(format, FORMATS)}")

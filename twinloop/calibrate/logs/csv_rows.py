"""Read logs from CSV files: a header line with column names, then one row per frame."""

import io
from pathlib import Path

import numpy as np

from twinloop.calibrate.logs.log import Log
from twinloop.durable import digest_file, read_bounded
from twinloop.errors import DatasetError, nearest

MAX_BYTES = 1 << 30
DELIMITERS = ",;\t|"
COMMENT = "#"


def read_csv_log(path: Path, *, time: str, rate_hz: float) -> Log:
    """The log of one CSV file.

    The delimiter is a comma, semicolon, tab or bar, whichever splits the header into most names. Lines that begin with
    `#` are skipped. A cell that is empty or no number becomes NaN and keeps its row; a column without any number is
    left out.

    Args:
        time: name of the column with the time in seconds; empty if there is none. Then rows are 1 / `rate_hz` apart.
    """
    content = read_bounded(path, MAX_BYTES, error=DatasetError)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: is not UTF-8 text ({error}); save it as UTF-8") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(COMMENT)]
    if len(lines) < 2:
        raise DatasetError(f"{path}: has {len(lines)} lines; a header with column names and rows were expected")
    delimiter = max(DELIMITERS, key=lines[0].count)
    header = [name.strip().strip('"') for name in lines[0].split(delimiter)]
    if all(_is_number(name) for name in header):
        raise DatasetError(
            f"{path}: its first line contains numbers ({', '.join(header[:4])}); a header with column "
            "names was expected"
        )
    if repeated := sorted({name for name in header if header.count(name) > 1}):
        raise DatasetError(f"{path}: its header contains {', '.join(map(repr, repeated))} more than once")
    values = _values(lines[1:], len(header), delimiter)
    known = np.asarray(np.isfinite(values).any(axis=0))
    columns = {name: values[:, [place]] for place, name in enumerate(header) if known[place]}
    if time and time not in columns:
        raise DatasetError(
            f"{path}: has no column of numbers {time!r}, which `logs.time` of the bench file names; "
            f"{nearest(time, columns)}"
        )
    if time and not np.isfinite(columns[time]).all():
        row = int(np.argmin(np.isfinite(columns[time][:, 0])))
        raise DatasetError(f"{path}: row {row + 1} has no number in its time column {time!r}; remove such rows")
    time_s = columns[time][:, 0] if time else np.arange(len(values)) / rate_hz
    return Log(path.stem, time_s, columns, digest=digest_file(path).sha256)


def _values(lines: list[str], width: int, delimiter: str) -> np.ndarray:
    """(rows, columns) numbers; NaN where a cell holds none."""
    try:
        # Fast where every cell is a number, which is the usual case in long logs.
        values = np.loadtxt(io.StringIO("\n".join(lines)), delimiter=delimiter, ndmin=2, comments=None)
        if values.shape[1] == width and np.isfinite(values).all():
            return values
    except ValueError:
        pass
    values = np.full((len(lines), width), np.nan)
    for row, line in enumerate(lines):
        for place, cell in enumerate(line.split(delimiter)[:width]):
            values[row, place] = _number(cell)
    return values


def _number(cell: str) -> float:
    try:
        number = float(cell.strip().strip('"'))
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def _is_number(cell: str) -> bool:
    return np.isfinite(_number(cell))

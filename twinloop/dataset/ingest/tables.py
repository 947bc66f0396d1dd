"""Log files -> tables: named columns of numbers, and single values of the document."""

import fnmatch
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from twinloop.dataset.ingest.mapping import CsvConfig
from twinloop.dataset.ingest.outside import MOST_BINARY, MOST_ROWS, MOST_TEXT, inside, text_inside
from twinloop.dataset.ingest.source import Unreadable

DEEPEST = 20
MAX_BROKEN = 0.01  # share of the lines that may be broken; one always may


@dataclass(frozen=True)
class Table:
    """The columns of one log.

    Attributes:
        columns: (rows,) or (rows, d) numbers.
        words: columns of text.
        facts: single values of the whole document.
        ragged: columns that are missing or have another length, one sentence each.
        lost: (row, sentence) for each broken line that was left out; row: number of good rows before it.
    """

    rows: int
    columns: Mapping[str, np.ndarray]
    words: Mapping[str, list[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    ragged: tuple[str, ...] = ()
    lost: tuple[tuple[int, str], ...] = ()


def read_csv(root: Path, path: Path, config: CsvConfig) -> Table:
    file = inside(root, path, most_bytes=MOST_TEXT)
    with file.open("rb") as opened:
        head = opened.read(1 << 16).decode("utf-8-sig", errors="replace")
    # Numbers may be padded with blanks, which pyarrow reads as text.
    delimiter = config.delimiter or _delimiter(head, config.skip_rows)
    names = list(config.names) or numbered_columns(head, delimiter, config.skip_rows)
    read = pa_csv.ReadOptions(
        use_threads=False, skip_rows=config.skip_rows, column_names=names or None, block_size=1 << 24,
    )  # fmt: skip
    convert = pa_csv.ConvertOptions(null_values=["", "NA", "N/A", "null", "None", "-"], strings_can_be_null=False)
    broken: list[int] = []

    def note(row: pa_csv.InvalidRow) -> str:
        broken.append(row.number or 0)
        return "skip"

    try:
        parse = pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=note)
        table = pa_csv.read_csv(file, read, parse, convert)
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(f"{path.name}: cannot be read as CSV ({error})") from None
    if len(broken) > max(1, MAX_BROKEN * table.num_rows):
        raise Unreadable(
            f"{path.name}: {len(broken)} lines have more or fewer columns than the first", check="ragged_columns"
        )
    # The number of a line counts the header and the other broken lines before it.
    before = config.skip_rows + (0 if names else 1)
    lost = [
        (
            line - before - place - 1,
            f"{path.name}: line {line} has more or fewer columns than the first and is left out",
        )
        for place, line in enumerate(sorted(broken))
    ]
    cut = not _ends_with_newline(file)
    columns, words = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        name = name.strip().lstrip("#").strip()
        values = _numbers(column, cut_off=cut)
        if values is None:
            words[name] = [str(cell) for cell in column.to_pylist()]
        else:
            columns[name] = values
    return (
        _without_cut_row(Table(table.num_rows, columns, words, lost=tuple(lost)), path.name)
        if cut
        else Table(table.num_rows, columns, words, lost=tuple(lost))
    )


def numbered_columns(head: str, delimiter: str, skip_rows: int) -> list[str]:
    """`col_0, col_1, ...` for a file whose first line holds numbers instead of names; else nothing."""
    lines = head.splitlines()[skip_rows : skip_rows + 1]
    cells = [cell.strip().strip('"') for cell in lines[0].split(delimiter)] if lines else []
    return [f"col_{place}" for place in range(len(cells))] if cells and all(map(_is_number, cells)) else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as opened:
        opened.seek(max(file.stat().st_size - 1, 0))
        return opened.read(1) in (b"\n", b"\r", b"")


def _without_cut_row(table: Table, where: str) -> Table:
    """Leave out the last row if the file ends inside of it: a number is missing there and in no other row."""
    last = table.rows - 1
    missing = [
        name
        for name, values in table.columns.items()
        if values.dtype.kind == "f" and table.rows > 1 and np.isnan(values[-1]) and not np.isnan(values[:-1]).any()
    ]
    if not missing:
        return table
    columns = {name: values[:last] for name, values in table.columns.items()}
    words = {name: values[:last] for name, values in table.words.items()}
    lost = (*table.lost, (last, f"{where}: the last line is cut off and is left out"))
    return Table(last, columns, words, table.facts, table.ragged, lost)


def _delimiter(head: str, skip_rows: int) -> str:
    lines = head.splitlines()[skip_rows : skip_rows + 5]
    counts = {delimiter: min((line.count(delimiter) for line in lines if line), default=0) for delimiter in ",;\t| "}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return best if counts[best] else ","


def _numbers(column: pa.ChunkedArray, *, cut_off: bool = False) -> np.ndarray | None:
    """The column as numbers, NaN for empty cells; None for text. cut_off: the last cell may be part of a number."""
    kind = column.type
    if pa.types.is_string(kind):
        texts = [cell.strip() if cell is not None else "" for cell in column.to_pylist()]
        if cut_off and texts and not _is_number(texts[-1]):
            texts[-1] = ""
        try:
            return np.array([float(text) if text else np.nan for text in texts])
        except ValueError:
            return None
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind) and not column.null_count:
        return column.to_numpy()
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_date(kind):
        return (
            column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy() / 1e9 if pa.types.is_timestamp(kind) else None
        )
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return (column.cast(pa.float64()) if column.null_count else column).to_numpy()
    return None


def read_json(root: Path, path: Path) -> Any:
    try:
        return json.loads(text_inside(root, path))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path.name}: is not JSON, or ends before it is complete ({error})") from None


def read_lines(root: Path, path: Path) -> tuple[list[Any], tuple[tuple[int, str], ...]]:
    """JSON lines: (rows, lost). A few broken lines are left out, as the last one that a crash has cut off."""
    rows: list[Any] = []
    lost: list[tuple[int, str]] = []
    lines = text_inside(root, path).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            problem = "the last line is cut off" if number == len(lines) else f"line {number} is not JSON"
            lost.append((len(rows), f"{path.name}: {problem} ({error}) and is left out"))
    if len(lost) > max(1, MAX_BROKEN * len(rows)) or not rows:
        raise Unreadable(
            f"{path.name}: {len(lost)} of {len(lines)} lines are not JSON; first {lost[0][1]}"
            if lost
            else f"{path.name}: is empty"
        )
    return rows, tuple(lost)


def document_table(value: Any, rows: str, *, where: str) -> Table:
    """The table of a parsed JSON document. rows: dotted path of its rows; "" uses the only list of records."""
    facts = _facts(value)
    for part in rows.split(".") if rows else ():
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(value) if isinstance(value, dict) else type(value).__name__
            raise Unreadable(f"{where}: rows: no key {part!r} ({known})", check="ragged_columns")
        value = value[part]
    if isinstance(value, dict) and not rows:
        lists = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
        value = lists[0] if len(lists) == 1 else value
    if isinstance(value, list):
        return _records(value, facts, where)
    if isinstance(value, dict):
        return _by_column(value, facts, where)
    raise Unreadable(f"{where}: contains {type(value).__name__}; rows were expected", check="ragged_columns")


def _facts(value: Any) -> dict[str, Any]:
    return {k: v for k, v in value.items() if isinstance(v, (str, int, float, bool))} if isinstance(value, dict) else {}


def _records(records: list, facts: dict[str, Any], where: str) -> Table:
    if len(records) > MOST_ROWS:
        raise Unreadable(f"{where}: has {len(records):,} rows; the maximum is {MOST_ROWS:,}")
    gathered: dict[str, list] = {}
    for number, record in enumerate(records):
        flat = _flat(record if isinstance(record, dict) else {"value": record})
        for name, value in flat.items():
            column = gathered.setdefault(name, [])
            column += [None] * (number - len(column))
            column.append(value)
    for column in gathered.values():
        column += [None] * (len(records) - len(column))
    return _table(gathered, len(records), facts, where)


def _by_column(values: dict, facts: dict[str, Any], where: str) -> Table:
    lists = {name: value for name, value in _flat(values).items() if isinstance(value, list) and value}
    lengths = {name: len(value) for name, value in lists.items()}
    if not lengths:
        raise Unreadable(f"{where}: contains no list of numbers", check="ragged_columns")
    rows = max(set(lengths.values()), key=list(lengths.values()).count)
    wrong = {name: length for name, length in lengths.items() if length != rows}
    table = _table({name: value for name, value in lists.items() if name not in wrong}, rows, facts, where)
    ragged = tuple(f"{name} has {length} values; others have {rows}" for name, length in wrong.items())
    return replace(table, ragged=table.ragged + ragged)


def _flat(record: Mapping[str, Any], prefix: str = "", level: int = 0) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and level < DEEPEST:
            out |= _flat(value, f"{prefix}{name}.", level + 1)
        else:
            out[f"{prefix}{name}"] = value
    return out


def _table(gathered: Mapping[str, list], rows: int, facts: dict[str, Any], where: str) -> Table:
    columns, words, ragged = {}, {}, []
    for name, values in gathered.items():
        missing = sum(value is None for value in values)
        if any(isinstance(value, str) for value in values):
            words[name] = ["" if value is None else str(value) for value in values]
            continue
        if any(isinstance(value, list) for value in values):
            widths = {len(value) if isinstance(value, list) else -1 for value in values}
            if len(widths) > 1:
                ragged.append(f"{name} has between {max(min(widths), 0)} and {max(widths)} values per row")
                continue
        try:
            filled = [np.nan if value is None else value for value in values] if missing else values
            array = np.array(filled)
        except (ValueError, OverflowError):
            array = np.array(None)
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
            ragged.append(f"{name} contains values that are not numbers")
            continue
        columns[name] = array
    return Table(rows, columns, words, facts, tuple(f"{where}: {problem}" for problem in ragged))


def read_npz(root: Path, path: Path) -> dict[str, np.ndarray]:
    """Arrays by name; a .npy file has one, `value`. Pickled objects and huge archives are refused."""
    file = inside(root, path)
    try:
        if file.suffix == ".npy":
            return {"value": _plain(np.load(file, mmap_mode="r", allow_pickle=False), path)}
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MOST_BINARY:
            raise Unreadable(f"{path.name}: unpacks to {size:,} bytes; the maximum is {MOST_BINARY:,}")
        with np.load(file, allow_pickle=False) as arrays:
            return {name: _plain(arrays[name], path) for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError, SyntaxError) as error:
        raise Unreadable(f"{path.name}: cannot be read as NumPy arrays ({error})") from None


def _plain(array: np.ndarray, path: Path) -> np.ndarray:
    if array.dtype.kind not in "fiubUS" or array.dtype.itemsize > 1 << 12:
        raise Unreadable(f"{path.name}: contains {array.dtype}; numbers were expected")
    return array


def array_table(arrays: Mapping[str, np.ndarray], *, where: str) -> Table:
    columns = {name: array for name, array in arrays.items() if array.ndim in (1, 2) and array.dtype.kind in "fiub"}
    facts = {name: array.item() for name, array in arrays.items() if array.ndim == 0}
    if not columns:
        raise Unreadable(f"{where}: has no array with one or two dimensions", check="ragged_columns")
    lengths = [len(array) for array in columns.values()]
    rows = max(set(lengths), key=lengths.count)
    ragged = tuple(
        f"{where}: {name} has {len(array)} rows; others have {rows}"
        for name, array in columns.items()
        if len(array) != rows
    )
    return Table(rows, {name: array for name, array in columns.items() if len(array) == rows}, {}, facts, ragged)


def matching(names: Mapping[str, Any] | list[str], pattern: str) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]

"""Logs: CSV, JSON, JSON lines and NumPy files, single or in a folder, read with a mapping."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.ingest.mapping import ColumnMap, MappingConfig
from twinloop.dataset.ingest.outside import MOST_EPISODES, inside
from twinloop.dataset.ingest.source import Outcome, PictureFormat, RawEpisode, Unreadable
from twinloop.dataset.ingest.tables import (
    Table,
    array_table,
    document_table,
    matching,
    read_csv,
    read_json,
    read_lines,
    read_npz,
)
from twinloop.dataset.ingest.units import UNITS
from twinloop.errors import UsageError, nearest

ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".npz": "npz", ".npy": "npz",
}  # fmt: skip
CLOCKS = ("timestamp", "time", "t", "time_s", "timestamp_s", "stamp", "timestamps", "time_ms", "timestamp_ms", "sec")
YES = ("true", "1", "1.0", "yes", "success", "succeeded", "ok")


@dataclass(frozen=True)
class _Place:
    """Place of an episode: a file, and the value of the episode column or the key in it."""

    file: Path
    label: str
    value: str = ""


class Logs:
    kind = "log"

    def __init__(self, path: Path, mapping: MappingConfig | None):
        self._root = path if path.is_dir() else path.parent
        self._mapping = mapping or MappingConfig()
        self._files = self._find(path)
        self._table = lru_cache(maxsize=2)(self._read_table)
        if mapping is None or not mapping.columns:
            raise UsageError(self._proposal())
        self.rate_hz = mapping.rate_hz
        self.robot = mapping.robot
        self.looks: Mapping[str, PictureFormat] = {}
        self.left_out: dict[str, str] = {}
        self._places = self._split()
        if not self._places:
            raise UsageError(f"{path}: no episode matches `episodes: {mapping.episodes}` of the mapping")

    def __len__(self) -> int:
        return len(self._places)

    def label(self, index: int) -> str:
        return self._places[index].label

    def columns(self) -> tuple[ColumnMap, ...]:
        return self._mapping.columns

    def read(self, index: int) -> RawEpisode:
        place, mapping = self._places[index], self._mapping
        by, _, name = mapping.episodes.partition(":")
        table = self._table(place.file, place.value if by == "keys" else "")
        if by == "column":
            table = _select(table, _keys(table, name, place.label) == place.value)
        needed = [source for column in mapping.columns for source in column.sources]
        problems = [
            message for message in table.ragged if any(f"{source.split('[')[0]} " in message for source in needed)
        ]
        if problems:
            raise Unreadable("; ".join(problems), check="ragged_columns")
        time_s = None
        if mapping.time_column:
            clock = table.columns.get(mapping.time_column)
            if clock is None or clock.ndim != 1:
                raise Unreadable(f"{place.label}: has no time column {mapping.time_column}", check="ragged_columns")
            # Nanoseconds since 1970 do not fit into a double. The time since the first row does.
            began = clock[0] if len(clock) else 0
            size = UNITS[mapping.time_unit][1]
            time_s = float(began) * size + (clock - began).astype(np.float64) * size
        outcome, by_whom = self._outcome(table)
        return RawEpisode(
            index=index, label=place.label, rows=table.rows, columns=table.columns, time_s=time_s,
            task=mapping.task or self._fact(table, mapping.task_from), outcome=outcome, outcome_by=by_whom,
            facts={name: self._fact(table, key) for name, key in mapping.conditions.items()},
            notes=tuple(sentence for _, sentence in table.lost),
        )  # fmt: skip

    def _outcome(self, table: Table) -> tuple[Outcome, str]:
        mapping = self._mapping
        if mapping.outcome:
            return mapping.outcome, "human" if mapping.outcome != "unknown" else ""  # type: ignore[return-value]
        if not mapping.outcome_from:
            return "unknown", ""
        text = self._fact(table, mapping.outcome_from, last=True).lower()
        if not text:
            return "unknown", ""
        return ("success" if text in YES else "failure"), "human"

    def _fact(self, table: Table, key: str, *, last: bool = False) -> str:
        """A single value: of the document, or the first (or last) value of a column."""
        if not key:
            return ""
        place = -1 if last else 0
        if key in table.facts:
            return str(table.facts[key])
        if table.words.get(key):
            return table.words[key][place]
        if key in table.columns and len(table.columns[key]):
            return str(np.asarray(table.columns[key][place]).tolist())
        return ""

    def _find(self, path: Path) -> list[Path]:
        if path.is_file():
            return [path]
        pattern = self._mapping.files or "*"
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise UsageError(f"files: {pattern!r} leaves the folder; a pattern like '*.csv' was expected")
        files = sorted(file for file in path.glob(pattern) if file.is_file() and self._format(file, strict=False))
        if not self._mapping.files:
            kinds = {self._format(file) for file in files}
            if len(kinds) > 1:
                raise UsageError(
                    f"{path}: contains {', '.join(sorted(kinds))}; choose one in the mapping, for example "
                    "files: '*.csv'"
                )
        if not files:
            raise UsageError(f"{path}: no file matches {pattern!r}; logs end in {', '.join(ENDINGS)}")
        return [inside(path, file) for file in files]

    def _format(self, path: Path, *, strict: bool = True) -> str:
        kind = self._mapping.format or ENDINGS.get(path.suffix.lower(), "")
        if not kind and strict:
            raise UsageError(f"{path}: unknown log format; set it in the mapping, format: csv, json, jsonl or npz")
        return kind

    def _split(self) -> list[_Place]:
        by, _, argument = self._mapping.episodes.partition(":")
        places: list[_Place] = []
        for file in self._files:
            if by == "file":
                places.append(_Place(file, file.name))
                continue
            try:
                if by == "keys":
                    names = matching(self._document(file), argument)
                else:
                    values = _keys(self._table(file, ""), argument, file.name)
                    _, first = np.unique(values, return_index=True)
                    names = [str(values[row]) for row in np.sort(first)]
                places += [_Place(file, f"{file.name}:{name}", name) for name in names]
            except Unreadable:
                places.append(_Place(file, file.name))  # reading it later gives the verdict
            if len(places) > MOST_EPISODES:
                raise UsageError(f"{file}: has more than {MOST_EPISODES:,} episodes")
        return places

    def _document(self, file: Path) -> dict[str, Any]:
        kind = self._format(file)
        document = read_npz(self._root, file) if kind == "npz" else read_json(self._root, file)
        if not isinstance(document, dict):
            raise Unreadable(f"{file.name}: has no keys that separate episodes", check="ragged_columns")
        return document

    def _read_table(self, file: Path, key: str) -> Table:
        kind = self._format(file)
        if key:
            value = self._document(file)[key]
            if kind == "npz":
                return array_table({"value": value}, where=f"{file.name}: {key}")
            return document_table(value, self._mapping.rows, where=f"{file.name}: {key}")
        if kind == "csv":
            return read_csv(self._root, file, self._mapping.csv)
        if kind == "npz":
            return array_table(read_npz(self._root, file), where=file.name)
        if kind == "jsonl":
            rows, lost = read_lines(self._root, file)
            return replace(document_table(rows, self._mapping.rows, where=file.name), lost=lost)
        return document_table(read_json(self._root, file), self._mapping.rows, where=file.name)

    def _proposal(self) -> str:
        """The error text with a proposed mapping, made from the columns of the first file."""
        try:
            table = self._table(self._files[0], "")
        except Unreadable as error:
            return f"{error}. Logs also need a mapping (--mapping FILE, see docs/ingesting.md)"
        clock = next((name for name in table.columns if name.lower() in CLOCKS), "")
        rest = [name for name in table.columns if name != clock]
        actions = [
            name
            for name in rest
            if any(word in name.lower() for word in ("action", "goal", "command", "target", "cmd"))
        ]
        states = [name for name in rest if name not in actions]
        file = self._files[0].name
        lines = [f"{file}: a log needs a mapping that describes its columns (--mapping FILE). For example:"]
        if self._format(self._files[0]) == "csv" and list(table.columns)[:1] == ["col_0"]:
            lines.insert(
                0, f"{file}: the first line contains numbers, so the columns are named col_0, col_1, ... in order"
            )
        lines += [f"  time: {{column: {clock}, unit: s}}" if clock else "  rate_hz: 50", "  columns:"]
        if states:
            lines.append(f"    observation.state: {{from: [{', '.join(map(_quoted, states[:12]))}], unit: rad}}")
        if actions:
            lines.append(f"    action: {{from: [{', '.join(map(_quoted, actions[:12]))}], unit: rad}}")
        return "\n".join(lines)


def _quoted(name: str) -> str:
    return f'"{name}"' if set(name) & set("[]{},:#&*!|>'\"%@` ") else name


def _keys(table: Table, name: str, where: str) -> np.ndarray:
    if name in table.words:
        return np.array(table.words[name])
    if name not in table.columns or table.columns[name].ndim != 1:
        known = [*table.columns, *table.words]
        raise Unreadable(
            f"{where}: has no column {name!r} to separate episodes by; {nearest(name, known)}", check="ragged_columns"
        )
    values = table.columns[name]
    whole = values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.round(values)).all()
    return (values.astype(np.int64) if whole else values).astype(str)


def _select(table: Table, rows: np.ndarray) -> Table:
    columns = {name: values[rows] for name, values in table.columns.items()}
    words = {
        name: [value for value, kept in zip(values, rows, strict=True) if kept] for name, values in table.words.items()
    }
    # A broken line belongs to the episode of the row before it.
    lost = tuple((row, sentence) for row, sentence in table.lost if len(rows) and rows[max(row - 1, 0)])
    return Table(int(rows.sum()), columns, words, table.facts, table.ragged, lost)

"""The mapping file: features, source columns, units and rate of a log."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from twinloop.config.yaml_file import Lines, read_yaml
from twinloop.dataset.ingest.units import UNITS, Conversion, factor, spelled
from twinloop.errors import ConfigError, nearest

FORMATS = ("csv", "json", "jsonl", "npz")
OUTCOMES = ("success", "failure", "unknown")
KEYS = (
    "format", "files", "rows", "csv", "rate_hz", "time", "episodes", "robot", "task", "columns", "limits",
    "conditions", "outcome",
)  # fmt: skip
COLUMN_KEYS = ("from", "names", "unit", "recorded_unit", "scale", "offset", "sign", "unwrap")
TAKEN = ("attempt", "frame_index", "timestamp", "episode_index", "index", "task_index", "timing")


@dataclass(frozen=True)
class ColumnMap:
    """One feature of a mapping.

    Attributes:
        sources: `column`, `column[3]` or `column[0:3]`; their elements are concatenated.
        names: one per element, or none.
        conversions: one per element, or a single one for all.
    """

    name: str
    sources: tuple[str, ...]
    names: tuple[str, ...] = ()
    conversions: tuple[Conversion, ...] = (Conversion(),)


@dataclass(frozen=True)
class CsvConfig:
    """delimiter: "" detects it. names: column names for a file without a header line."""

    delimiter: str = ""
    skip_rows: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class MappingConfig:
    """episodes: "file", `column:NAME` (a new value, a new episode) or `keys:PATTERN` (an array or entry each).
    task, outcome, robot: fixed, or "" and read from `..._from`."""

    columns: tuple[ColumnMap, ...] = ()
    format: str = ""
    files: str = ""
    rows: str = ""
    csv: CsvConfig = field(default_factory=CsvConfig)
    rate_hz: float | None = None
    time_column: str = ""
    time_unit: str = "s"
    episodes: str = "file"
    robot: str = ""
    task: str = ""
    task_from: str = ""
    outcome: str = ""
    outcome_from: str = ""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def load_mapping(path: Path) -> MappingConfig:
    values, lines = read_yaml(path)
    return _Parser(str(path), lines).mapping(values)


@dataclass(frozen=True)
class _Parser:
    file: str
    lines: Lines

    def wrong(self, key: str, problem: str) -> ConfigError:
        line = self.lines.get(key)
        return ConfigError(f"{self.file}:{line}: {key}" if line else f"{self.file}: {key}", problem)

    def mapping(self, values: dict) -> MappingConfig:
        self._known(values, KEYS, "")
        episodes = values.get("episodes", "file")
        if isinstance(episodes, dict):
            self._known(episodes, ("column", "keys"), "episodes")
            if len(episodes) != 1:
                raise self.wrong("episodes", "one of `column` and `keys` was expected")
            ((by, what),) = episodes.items()
            episodes = f"{by}:{self._text(what, f'episodes.{by}')}"
        elif episodes != "file":
            raise self.wrong("episodes", f"{episodes!r} was given; valid: file, {{column: NAME}}, {{keys: PATTERN}}")
        time = values.get("time", {})
        time = {"column": time} if isinstance(time, str) else self._section(time, ("column", "unit"), "time")
        time_unit = spelled(str(time.get("unit", "s")))
        if UNITS.get(time_unit, ("", 0))[0] != "time":
            raise self.wrong("time.unit", f"{time_unit!r} was given; valid: s, ms, us, ns, min")
        form = str(values.get("format", ""))
        if form and form not in FORMATS:
            raise self.wrong("format", f"{form!r} was given; {nearest(form, FORMATS)}")
        task, task_from = self._fixed_or_from(values.get("task", ""), "task")
        outcome, outcome_from = self._fixed_or_from(values.get("outcome", ""), "outcome")
        if outcome and outcome not in OUTCOMES:
            raise self.wrong("outcome", f"{outcome!r} was given; {nearest(outcome, OUTCOMES)}, or {{from: COLUMN}}")
        columns = self._section(values.get("columns", {}), None, "columns")
        return MappingConfig(
            columns=tuple(self._column(str(name), value) for name, value in columns.items()),
            format=form,
            files=str(values.get("files", "")),
            rows=str(values.get("rows", "")),
            csv=self._csv(values.get("csv", {})),
            rate_hz=self._rate(values.get("rate_hz")),
            time_column=str(time.get("column", "")),
            time_unit=time_unit,
            episodes=episodes,
            robot=str(values.get("robot", "")),
            task=task,
            task_from=task_from,
            outcome=outcome,
            outcome_from=outcome_from,
            limits={
                str(name): self._range(value, f"limits.{name}")
                for name, value in self._section(values.get("limits", {}), None, "limits").items()
            },
            conditions={
                str(name): self._text(value, f"conditions.{name}")
                for name, value in self._section(values.get("conditions", {}), None, "conditions").items()
            },
        )

    def _column(self, name: str, value: object) -> ColumnMap:
        key = f"columns.{name}"
        if name in TAKEN:
            raise self.wrong(key, f"the name is taken; others are free ({', '.join(TAKEN)} are not)")
        if isinstance(value, (str, list)):
            value = {"from": value}
        section = self._section(value, COLUMN_KEYS, key)
        if "from" not in section:
            raise self.wrong(key, "`from` is missing: the column or columns it is made of")
        sources = section["from"] if isinstance(section["from"], list) else [section["from"]]
        if not sources or not all(isinstance(each, (str, int)) for each in sources):
            raise self.wrong(f"{key}.from", "a column or a list of columns was expected")
        names = section.get("names", [])
        if not isinstance(names, list):
            raise self.wrong(f"{key}.names", f"{names!r} was given, a list with a name for every element was expected")
        return ColumnMap(
            name, tuple(map(str, sources)), tuple(map(str, names)), self._conversions(section, key, len(names))
        )

    def _conversions(self, section: dict, key: str, named: int) -> tuple[Conversion, ...]:
        """One conversion per element of the given lists; a single value holds for all elements."""
        parts = {each: section.get(each) for each in ("unit", "recorded_unit", "scale", "offset", "sign", "unwrap")}
        lengths = {len(value) for value in parts.values() if isinstance(value, list)}
        if len(lengths) > 1 or (lengths and named and lengths != {named}):
            raise self.wrong(key, f"lists of different lengths: {sorted(lengths | ({named} if named else set()))}")
        count = lengths.pop() if lengths else 1
        out = []
        for place in range(count):
            one = {each: value[place] if isinstance(value, list) else value for each, value in parts.items()}
            stored = spelled(str(one["unit"] or ""))
            recorded = spelled(str(one["recorded_unit"] or "")) or stored
            size = factor(recorded, stored) if recorded and stored else 1.0
            if size is None:
                known = ", ".join(UNITS)
                raise self.wrong(key, f"{recorded!r} cannot be converted to {stored!r}; units that can: {known}")
            scale = (
                size * self._number(one["scale"], 1.0, f"{key}.scale") * self._number(one["sign"], 1.0, f"{key}.sign")
            )
            if scale == 0:
                raise self.wrong(key, "a scale of 0 cannot be undone")
            offset = self._number(one["offset"], 0.0, f"{key}.offset")
            unwrap = self._number(one["unwrap"], 0.0, f"{key}.unwrap")
            if unwrap < 0:
                raise self.wrong(
                    f"{key}.unwrap", f"{unwrap:g} was given, a whole turn in the recorded unit was expected"
                )
            out.append(Conversion(scale, offset, recorded, stored or recorded, unwrap))
        return tuple(out)

    def _csv(self, value: object) -> CsvConfig:
        section = self._section(value, ("delimiter", "skip_rows", "names"), "csv")
        skip = section.get("skip_rows", 0)
        if not isinstance(skip, int) or not 0 <= skip <= 10_000:
            raise self.wrong("csv.skip_rows", f"{skip!r} was given, a whole number from 0 was expected")
        delimiter = str(section.get("delimiter", "")).replace("\\t", "\t")
        if len(delimiter) > 1:
            raise self.wrong("csv.delimiter", f"{delimiter!r} was given, one character was expected")
        return CsvConfig(delimiter, skip, tuple(map(str, section.get("names", []) or [])))

    def _rate(self, value: object) -> float | None:
        if value is None:
            return None
        rate = self._number(value, 0.0, "rate_hz")
        if not 0 < rate <= 1e5:
            raise self.wrong("rate_hz", f"{rate:g} was given, a number above 0 was expected")
        return rate

    def _fixed_or_from(self, value: object, key: str) -> tuple[str, str]:
        if isinstance(value, dict):
            section = self._section(value, ("from",), key)
            return "", self._text(section.get("from", ""), f"{key}.from")
        return self._text(value, key), ""

    def _range(self, value: object, key: str) -> tuple[float, float]:
        if not isinstance(value, list) or len(value) != 2:
            raise self.wrong(key, f"{value!r} was given, [low, high] was expected")
        low, high = (self._number(each, 0.0, key) for each in value)
        if low >= high:
            raise self.wrong(key, f"[{low:g}, {high:g}] was given, low must be below high")
        return low, high

    def _number(self, value: object, default: float, key: str) -> float:
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, f"{value!r} was given, a number was expected")
        return float(value)

    def _text(self, value: object, key: str) -> str:
        if isinstance(value, (dict, list)):
            raise self.wrong(key, f"{value!r} was given, a word was expected")
        return str(value)

    def _section(self, value: object, valid: Sequence[str] | None, key: str) -> dict:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(key, f"{value!r} was given, a mapping was expected")
        if valid is not None:
            self._known(value, valid, key)
        return value

    def _known(self, values: dict, valid: Sequence[str], inside: str) -> None:
        for key in values:
            if key not in valid:
                path = f"{inside}.{key}" if inside else str(key)
                raise self.wrong(path, f"unknown key; {nearest(str(key), valid)}")

"""MappingFile: the keys of a mapping file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from twinloop.config.compound import Listed, OneOf, Span
from twinloop.config.fields import integer, internal, mapped, number, of_kind, text, word
from twinloop.config.kinds import Kind, Number, Text, Word
from twinloop.config.record import Nested, by_name, json_schema, nested
from twinloop.dataset.ingest.units import UNITS, Conversion, factor, spelled

FORMATS = ("csv", "json", "jsonl", "npz")
OUTCOMES = ("success", "failure", "unknown")
TAKEN = ("attempt", "frame_index", "timestamp", "episode_index", "index", "task_index", "timing")
TIME_UNITS = tuple(unit for unit, (quantity, _) in UNITS.items() if quantity == "time")


def _per_element(item: Kind, *, help: str, default: str = "") -> OneOf:
    """One value for all elements of a feature, or a list with one for each."""
    return OneOf(kinds=(item, Listed(item=item, least=1, what="value")), help=help, default=default)


@dataclass(frozen=True)
class ColumnFile:
    """One feature and where it comes from."""

    name: str = internal()
    sources: tuple[str, ...] = of_kind(
        OneOf(
            kinds=(Text(loose=True, form="a column"), Listed(item=Text(loose=True), least=1, what="column")),
            key="from",
            help="`column`, `column[3]` or `column[0:3]`, or a list of them, joined in order",
        )
    )
    names: tuple[str, ...] = of_kind(Listed(item=Text(loose=True), what="name", help="a name for each element"), ())
    unit: tuple[str, ...] | str = of_kind(
        _per_element(Text(loose=True), help="unit in the dataset; values are converted if `recorded_unit` is given"), ""
    )
    recorded_unit: tuple[str, ...] | str = of_kind(
        _per_element(Text(loose=True), help="unit in the log", default="the same"), ""
    )
    scale: tuple[float, ...] | float = of_kind(_per_element(Number(), help="factor, besides that of the units"), 1.0)
    offset: tuple[float, ...] | float = of_kind(_per_element(Number(), help="added after scaling"), 0.0)
    sign: tuple[float, ...] | float = of_kind(_per_element(Number(), help="factor of direction, 1 or -1"), 1.0)
    unwrap: tuple[float, ...] | float = of_kind(
        _per_element(Number(low=0), help="a whole turn in the recorded unit, to remove jumps of an angle; 0: none"), 0.0
    )

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            object.__setattr__(self, "sources", (self.sources,))

    def problems(self) -> Iterator[tuple[str, str]]:
        lengths = {len(value) for value in self._parts.values() if isinstance(value, tuple)}
        lengths |= {len(self.names)} if self.names and lengths else set()
        if len(lengths) > 1:
            yield "", f"has lists of different lengths: {sorted(lengths)}"
            return
        for conversion, part in zip(self.conversions(), self._elements(), strict=True):
            if factor(*_units(part)) is None:
                recorded, stored = _units(part)
                yield (
                    "",
                    f"has {recorded!r}, which cannot be converted to {stored!r}; units that can: {', '.join(UNITS)}",
                )
            elif conversion.scale == 0:
                yield "", "has a scale of 0, which cannot be undone"

    def conversions(self) -> tuple[Conversion, ...]:
        """One conversion per element of the lists; a single one if there are none."""
        made = []
        for part in self._elements():
            recorded, stored = _units(part)
            scale = (factor(recorded, stored) or 1.0) * part["scale"] * part["sign"]
            made.append(Conversion(scale, part["offset"], recorded, stored, part["unwrap"]))
        return tuple(made)

    @property
    def _parts(self) -> dict[str, Any]:
        keys = ("unit", "recorded_unit", "scale", "offset", "sign", "unwrap")
        return {key: getattr(self, key) for key in keys}

    def _elements(self) -> list[dict[str, Any]]:
        count = max((len(value) for value in self._parts.values() if isinstance(value, tuple)), default=1)
        return [
            {key: value[index] if isinstance(value, tuple) else value for key, value in self._parts.items()}
            for index in range(count)
        ]


def _units(part: dict[str, Any]) -> tuple[str, str]:
    """(recorded unit, stored unit) of an element. One that is not given is the same as the other."""
    stored = spelled(part["unit"])
    recorded = spelled(part["recorded_unit"]) or stored
    return recorded, stored or recorded


@dataclass(frozen=True)
class CsvConfig:
    """How CSV files are read."""

    delimiter: str = text("", pattern=r".|\\t|", form="one character", help="between columns", otherwise="detected")
    skip_rows: int = integer(0, low=0, high=10_000, help="lines before the header line")
    names: tuple[str, ...] = of_kind(
        Listed(item=Text(loose=True), what="name", help="column names for a file without a header line"), ()
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "delimiter", self.delimiter.replace("\\t", "\t"))


@dataclass(frozen=True)
class TimeFile:
    """The clock of a log."""

    column: str = of_kind(Text(loose=True, help="column with the time"), "")
    unit: str = text("s", help=f"its unit: {', '.join(TIME_UNITS)}")

    def problems(self) -> Iterator[tuple[str, str]]:
        if spelled(self.unit) not in TIME_UNITS:
            yield "unit", f"is {self.unit!r}; one of {', '.join(TIME_UNITS)} was expected"


@dataclass(frozen=True)
class EpisodeSplit:
    """Where an episode begins: one of the two."""

    column: str = of_kind(Text(loose=True, help="a new value in this column is a new episode"), "")
    keys: str = of_kind(Text(loose=True, help="pattern of names; each array or entry is an episode"), "")

    def problems(self) -> Iterator[tuple[str, str]]:
        if bool(self.column) == bool(self.keys):
            yield "", "has to be one of {column: NAME} and {keys: PATTERN}"

    @property
    def rule(self) -> str:
        return f"column:{self.column}" if self.column else f"keys:{self.keys}"


@dataclass(frozen=True)
class FromColumn:
    column: str = of_kind(Text(loose=True, filled=True, key="from", help="column or key of the log with the value"))


@dataclass(frozen=True)
class MappingFile:
    """The content of a mapping file."""

    columns: tuple[ColumnFile, ...] = by_name(
        ColumnFile, named="name", short="from", most=None, what="feature", help="features of the dataset"
    )
    rate_hz: float | None = number(None, low=0, high=1e5, above=True, unit="Hz", help="declared rate of the rows")
    time: TimeFile = nested(TimeFile, short="column", help="the clock; with a rate too, the rate is checked")
    episodes: str | EpisodeSplit = of_kind(
        OneOf(kinds=(Word(words=("file",)), Nested(record=EpisodeSplit)), help="what is one episode"), "file"
    )
    files: str = of_kind(Text(loose=True, help="pattern of file names within a folder", default="all"), "")
    format: str = word("", words=FORMATS, help="format of the files; by their ending if not given")
    rows: str = of_kind(Text(loose=True, help="path of the rows in a JSON document, as run.entries"), "")
    csv: CsvConfig = nested(CsvConfig, help="how CSV files are read")
    robot: str = of_kind(Text(loose=True, help="name of the robot"), "")
    task: str | FromColumn = of_kind(
        OneOf(kinds=(Text(loose=True), Nested(record=FromColumn)), help="the task in words, or where it stands"), ""
    )
    outcome: str | FromColumn = of_kind(
        OneOf(kinds=(Word(words=OUTCOMES), Nested(record=FromColumn)), help="the outcome, or where it stands"), ""
    )
    limits: dict[str, tuple[float, float]] = mapped(
        Span(), what="joint", most=None, help="limits of joints in the stored unit, for the checks"
    )
    conditions: dict[str, str] = mapped(
        Text(loose=True), what="condition", most=None,
        help="columns or values of the document to store as `condition/NAME`",
    )  # fmt: skip

    def problems(self) -> Iterator[tuple[str, str]]:
        for column in self.columns:
            if column.name in TAKEN:
                yield f"columns.{column.name}", f"is a name that is taken; {', '.join(TAKEN)} are"


def mapping_schema() -> dict[str, Any]:
    """JSON Schema of a mapping file."""
    return json_schema(MappingFile, title="Twinloop mapping of a log")

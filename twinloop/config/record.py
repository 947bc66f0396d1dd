"""Records: typed dataclasses whose fields say what a file may hold. One reader, one writer, one JSON Schema for all.

    @dataclass(frozen=True)
    class RolloutConfig:
        control_hz: int = integer(25, low=5, high=200, unit="Hz", help="how often actions change")

    config = read_record(RolloutConfig, Section("cell.yaml", "rollout", {"control_hz": 50}, {}))
    write_record(config)              # {"control_hz": 50}
    json_schema(RolloutConfig)        # {"type": "object", "properties": {"control_hz": {...}}, ...}

A rule over several fields is a method `problems(self)` of the record that yields (key, what is wrong).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, TypeVar

from twinloop.config.fields import kind_of, of_kind
from twinloop.config.kinds import Kind
from twinloop.config.section import Section

R = TypeVar("R")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def declared(record: type) -> Iterator[tuple[str, Field, Kind]]:
    """(key in the file, field, kind) of every field that a file may have."""
    for declared_field in fields(record):
        kind = kind_of(declared_field)
        if kind is not None:
            yield kind.key or declared_field.name, declared_field, kind


def read_record(
    record: type[R], section: Section, *, base: R | None = None, given: Mapping[str, Any] | None = None
) -> R:
    """Read a section as a record.

    Args:
        base: gives the value of every key that the section does not have; without it, the fields' defaults do.
        given: attribute -> value, for keys that the caller has read and attributes that no file has.

    Raises:
        ConfigError: an unknown or missing key, or a value that is not valid. It names file, line and key.
    """
    values = dict(given or {})
    for key, declared_field, kind in declared(record):
        section.expect(key)
        if declared_field.name in values:
            continue
        if key in section:
            values[declared_field.name] = kind.read(section, key)
        elif base is not None:
            values[declared_field.name] = getattr(base, declared_field.name)
        elif _default(declared_field) is not MISSING:
            continue
        elif kind.absent is not None:
            values[declared_field.name] = kind.absent
        else:
            raise section.error(key, f"is missing; {kind.expected()} was expected: {kind.help}")
    section.finish()
    made = record(**values)
    for key, problem in _problems(made):
        raise section.error(key, problem)
    return made


def write_record(record: Any) -> dict[str, Any]:
    """A record as JSON, every default written out. A field that is None is left out."""
    return {
        key: kind.write(getattr(record, declared_field.name))
        for key, declared_field, kind in declared(type(record))
        if getattr(record, declared_field.name) is not None
    }


def json_schema(record: type, *, title: str = "") -> dict[str, Any]:
    """JSON Schema of a record: for editors, and for checking a file without Twinloop."""
    properties, required, definitions = {}, [], {}
    for key, declared_field, kind in declared(record):
        properties[key] = kind.schema() | _annotations(declared_field, kind)
        definitions |= kind.definitions()
        if _default(declared_field) is MISSING and kind.absent is None:
            required.append(key)
    head = {"$schema": DIALECT, "title": title} if title else {}
    needed = {"required": required} if required else {}
    shared = {"$defs": definitions} if definitions else {}
    return {**head, "type": "object", "additionalProperties": False, "properties": properties, **needed, **shared}


@dataclass(frozen=True)
class ReferenceRow:
    """One key of a reference page, as Markdown text."""

    key: str
    default: str
    valid: str
    help: str


def reference(record: type) -> dict[str, list[ReferenceRow]]:
    """Section -> its keys, for every section of a file that is a record or a mapping to records."""
    sections = {}
    for key, _, kind in declared(record):
        if isinstance(kind, (Nested, ByName)):
            name = key if isinstance(kind, Nested) else f"{key}.NAME"
            sections[name] = [_reference_row(*entry) for entry in declared(kind.record)]
    return sections


def _reference_row(key: str, declared_field: Field, kind: Kind) -> ReferenceRow:
    default = _default(declared_field) if kind.absent is None else kind.absent
    shown = kind.default or (
        "required" if default is MISSING else f"`{json.dumps(kind.write(default)).strip(chr(34))}`"
    )
    return ReferenceRow(key, shown, kind.expected(), kind.help)


def _annotations(declared_field: Field, kind: Kind) -> dict[str, Any]:
    unit = f" ({kind.unit})" if kind.unit else ""
    description = {"description": kind.help + unit} if kind.help else {}
    default = _default(declared_field) if kind.absent is None else kind.absent
    if default is MISSING or default is None or kind.default:
        return description
    return {**description, "default": kind.write(default)}


def _default(declared_field: Field) -> Any:
    if declared_field.default_factory is not MISSING:
        return declared_field.default_factory()
    return declared_field.default


def _problems(record: Any) -> Iterator[tuple[str, str]]:
    return record.problems() if hasattr(record, "problems") else iter(())


@dataclass(frozen=True, kw_only=True)
class Nested(Kind):
    """A section that is a record."""

    record: type

    def read(self, section: Section, key: str) -> Any:
        return read_record(self.record, section.section(key))

    def write(self, value: Any) -> dict[str, Any]:
        return write_record(value)

    def schema(self) -> dict[str, Any]:
        inner = json_schema(self.record)
        return inner if inner.get("required") else inner | {"type": ["object", "null"]}

    def expected(self) -> str:
        return f"a mapping of {', '.join(key for key, _, _ in declared(self.record))}"


@dataclass(frozen=True, kw_only=True)
class ByName(Kind):
    """A mapping from names to records.

    Attributes:
        names: regular expression of a name. form: the same in words.
        most: how many entries there may be.
        what: what an entry is, for messages.
    """

    record: type
    names: str = r"[^\s].*"
    form: str = "any text"
    most: int = 64
    what: str = "entry"

    def read(self, section: Section, key: str) -> dict[str, Any]:
        inner = section.section(key)
        self.check_names(inner)
        return {name: read_record(self.record, inner.section(name)) for name in inner}

    def check_names(self, section: Section) -> None:
        names = list(section)
        if len(names) > self.most:
            raise section.error(names[self.most], f"is {self.what} number {len(names)}; {self.most} at most")
        for name in names:
            if not isinstance(name, str) or not re.fullmatch(self.names, name):
                raise section.error(str(name), f"is not a valid name of a {self.what}; {self.form} was expected")

    def write(self, value: Any) -> dict[str, Any]:
        return {name: write_record(entry) for name, entry in value.items()}

    def schema(self) -> dict[str, Any]:
        return {
            "type": ["object", "null"],
            "propertyNames": {"pattern": f"^{self.names}$"},
            "maxProperties": self.most,
            "additionalProperties": json_schema(self.record),
        }

    def expected(self) -> str:
        return f"a mapping from the name of a {self.what} to its settings"


def nested(record: type, default: Any = MISSING, *, help: str = "", optional: bool = False) -> Any:
    """A section. Without a default it has the record's own defaults; `optional`: it may be absent and is None then."""
    kind = Nested(record=record, help=help)
    if optional:
        return of_kind(kind, None)
    if default is not MISSING:
        return of_kind(kind, default)
    required = any(_default(declared_field) is MISSING for _, declared_field, _ in declared(record))
    return of_kind(kind) if required else of_kind(kind, default_factory=record)


def by_name(record: type, *, names: str = r"[^\s].*", most: int = 64, what: str = "entry", help: str = "") -> Any:
    """A mapping from names to records; empty by default."""
    return of_kind(ByName(record=record, names=names, most=most, what=what, help=help), default_factory=dict)

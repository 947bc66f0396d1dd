"""Records: typed dataclasses whose fields say what a file may hold. One reader, one writer, one JSON Schema for all.

    @dataclass(frozen=True)
    class RolloutConfig:
        control_hz: int = integer(25, low=5, high=200, unit="Hz", help="how often actions change")

    config = read_record(RolloutConfig, Section("cell.yaml", "rollout", {"control_hz": 50}, {}))
    write_record(config)              # {"control_hz": 50}
    json_schema(RolloutConfig)        # {"type": "object", "properties": {"control_hz": {...}}, ...}

A field without a kind gets one from its annotation (`annotations.py`) and its help from the class's `Attributes:`.
A rule over several fields is a method `problems(self)` of the record that yields (key, what is wrong).
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

from twinloop.config.annotations import attribute_help, kind_for
from twinloop.config.compound import Mapped
from twinloop.config.fields import is_internal, kind_of, of_kind
from twinloop.config.kinds import Kind, Version
from twinloop.config.section import Section

R = TypeVar("R")
DIALECT = "https://json-schema.org/draft/2020-12/schema"

Declaration = tuple[str, Field, Kind]
"""(key in the file, field, kind)"""


@cache
def declared(record: type) -> tuple[Declaration, ...]:
    """The declaration of every field that a file may have, in order."""
    declarations = []
    for declared_field in fields(record):
        if is_internal(declared_field):
            continue
        kind = kind_of(declared_field)
        if kind is None:
            annotation = get_type_hints(record)[declared_field.name]
            kind = kind_for(annotation, Nested, help=attribute_help(record).get(declared_field.name, ""))
        declarations.append((kind.key or declared_field.name, declared_field, kind))
    return tuple(declarations)


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
    for key, _, kind in declared(record):
        section.expect(key)
        if isinstance(kind, Version) and key in section:
            kind.read(section, key)  # before the keys, which another version may not share
    section.finish()
    for key, declared_field, kind in declared(record):
        if declared_field.name in values:
            continue
        if key in section:
            values[declared_field.name] = kind.read(section, key)
        elif base is not None:
            values[declared_field.name] = getattr(base, declared_field.name)
        elif not is_required(declared_field, kind) and kind.absent is None:
            continue
        elif kind.absent is not None:
            values[declared_field.name] = kind.absent
        else:
            raise section.error(key, f"is missing; {kind.wanted()}")
    made = record(**values)
    for key, problem in _problems(made):
        raise section.error(key, problem)
    return made


def check_record(record: Any) -> None:
    """Check a record that Python code made as if it were read. ConfigError names the key."""
    section = Section("", "", write_record(record), {})
    for key, _, kind in declared(type(record)):
        if key in section:
            kind.read(section, key)
    for key, problem in _problems(record):
        raise section.error(key, problem)


def _problems(record: Any) -> Iterator[tuple[str, str]]:
    return record.problems() if hasattr(record, "problems") else iter(())


def write_record(record: Any) -> dict[str, Any]:
    """A record as JSON, every default written out. None is left out, unless null is a value of the field's kind."""
    values = {}
    for key, declared_field, kind in declared(type(record)):
        value = getattr(record, declared_field.name)
        omitted = kind.omits(value) or (kind.omit_default and value == default_of(declared_field))
        if not omitted and (value is not None or kind.has_form(None)):
            values[key] = kind.write(value)
    return values


def json_schema(record: type, *, title: str = "") -> dict[str, Any]:
    """JSON Schema of a record: for editors, and for checking a file without Twinloop."""
    properties, required, definitions = {}, [], {}
    for key, declared_field, kind in declared(record):
        properties[key] = kind.schema() | _annotations(declared_field, kind)
        definitions |= kind.definitions()
        if is_required(declared_field, kind):
            required.append(key)
    head = {"$schema": DIALECT, "title": title} if title else {}
    needed = {"required": required} if required else {}
    shared = {"$defs": definitions} if definitions and title else {}
    return {**head, "type": "object", "additionalProperties": False, "properties": properties, **needed, **shared}


def _annotations(declared_field: Field, kind: Kind) -> dict[str, Any]:
    description = {"description": kind.help + kind.in_unit} if kind.help else {}
    default = default_of(declared_field) if kind.absent is None else kind.absent
    if default is MISSING or default is None or kind.default:
        return description
    return {**description, "default": kind.write(default)}


def is_required(declared_field: Field, kind: Kind) -> bool:
    """Whether a file must have the key."""
    return kind.required or (default_of(declared_field) is MISSING and kind.absent is None)


def default_of(declared_field: Field) -> Any:
    """The default of a field; MISSING if it has none."""
    if declared_field.default_factory is not MISSING:
        return declared_field.default_factory()
    return declared_field.default


@dataclass(frozen=True, kw_only=True)
class Nested(Kind):
    """A section that is a record.

    Attributes:
        short: a value that is no mapping is the value of this key: `cube` for `{kind: cube}`.
        named: attribute of the record that gets the key under which the section stands; "" for none.
    """

    FORMS = (dict,)

    record: type
    short: str = ""
    named: str = ""

    def read(self, section: Section, key: str) -> Any:
        if not self.has_form(section.raw(key)) and section.raw(key) is not None:
            raise self.refused(section, key)
        given = {self.named: key} if self.named else None
        return read_record(self.record, section.section(key, short=self.short), given=given)

    def write(self, value: Any) -> dict[str, Any]:
        return write_record(value)

    def has_form(self, value: object) -> bool:
        return isinstance(value, dict) or (bool(self.short) and self._short_kind.has_form(value))

    def holds(self, value: object) -> bool:
        return isinstance(value, self.record)

    def schema(self) -> dict[str, Any]:
        inner = json_schema(self.record)
        inner = inner if inner.get("required") else inner | {"type": ["object", "null"]}
        return {"anyOf": [self._short_kind.schema(), inner]} if self.short else inner

    def definitions(self) -> dict[str, Any]:
        return {name: schema for _, _, kind in declared(self.record) for name, schema in kind.definitions().items()}

    def expected(self) -> str:
        mapping = f"a mapping of {', '.join(key for key, _, _ in declared(self.record))}"
        return f"{self._short_kind.expected()}, or {mapping}" if self.short else mapping

    @property
    def _short_kind(self) -> Kind:
        return next(kind for key, _, kind in declared(self.record) if key == self.short)


@dataclass(frozen=True, kw_only=True)
class NamedRecords(Mapped):
    """A mapping from names to records that have their name as attribute; in Python a tuple of them."""

    item: Nested

    def read(self, section: Section, key: str) -> tuple[Any, ...]:
        return tuple(super().read_entries(section, key).values())

    def write(self, value: tuple[Any, ...]) -> dict[str, Any]:
        return super().write({getattr(record, self.item.named): record for record in value})

    def holds(self, value: object) -> bool:
        return isinstance(value, tuple)


def nested(record: type, default: Any = MISSING, *, help: str = "", optional: bool = False, short: str = "") -> Any:
    """A section. Without a default it has the record's own defaults; `optional`: it may be absent and is None then."""
    kind = Nested(record=record, help=help, short=short)
    if optional:
        return of_kind(kind, None)
    if default is not MISSING:
        return of_kind(kind, default)
    required = any(is_required(declared_field, kind) for _, declared_field, kind in declared(record))
    return of_kind(kind) if required else of_kind(kind, default_factory=record)


def by_name(
    record: type, *, names: str = r"[^\s].*", form: str = "any text", least: int = 0, most: int | None = 64,
    what: str = "value", help: str = "", named: str = "", short: str = "",
) -> Any:  # fmt: skip
    """A mapping from names to records; empty by default, or required if there must be entries.

    With `named`, the attribute of the record that gets the name, it is a tuple of records.
    """
    kind = NamedRecords if named else Mapped
    item = Nested(record=record, named=named, short=short)
    entries = kind(item=item, names=names, form=form, least=least, most=most, what=what, help=help)
    return of_kind(entries) if least else of_kind(entries, default_factory=tuple if named else dict)

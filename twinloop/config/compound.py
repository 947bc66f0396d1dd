"""Kinds of values that have several parts or several forms: lists, ranges, mappings and unions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from twinloop.config.kinds import Kind, Number, all_numbers, matches
from twinloop.config.section import Section, is_number
from twinloop.errors import ConfigError, nearest


@dataclass(frozen=True, kw_only=True)
class Numbers(Kind):
    """A list of numbers; `count` of them, or any number of them."""

    FORMS = (list,)

    low: float = -math.inf
    high: float = math.inf
    count: int | None = None

    def read(self, section: Section, key: str) -> tuple[float, ...]:
        value = section.raw(key)
        if not all_numbers(value) or not value or self.count not in (None, len(value)):
            raise self.refused(section, key)
        if not all(self.low <= item <= self.high for item in value):
            raise self.refused(section, key)
        return tuple(float(item) for item in value)

    def write(self, value: Any) -> list[float]:
        return list(value)

    def holds(self, value: object) -> bool:
        return isinstance(value, tuple)

    def schema(self) -> dict[str, Any]:
        item = Number(low=self.low, high=self.high).schema()
        bounds = {"minItems": 1} if self.count is None else {"minItems": self.count, "maxItems": self.count}
        return {"type": "array", "items": item, **bounds}

    def expected(self) -> str:
        count = "" if self.count is None else f"{self.count} "
        number = Number(low=self.low, high=self.high, unit=self.unit).expected()
        return f"a list of {count}{number.removeprefix('a ').replace('number', 'numbers', 1)}"


@dataclass(frozen=True, kw_only=True)
class Texts(Kind):
    """A list of texts; of `words` only, if there are any, and then each once. `empty`: may it be []?"""

    FORMS = (list,)

    words: tuple[str, ...] = ()
    count: int | None = None
    empty: bool = False

    def read(self, section: Section, key: str) -> tuple[str, ...]:
        value = section.raw(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refused(section, key)
        if not value and not self.empty:
            raise self.refused(section, key)
        if self.count not in (None, len(value)):
            raise section.error(key, f"has {len(value)} entries; {self.wanted()}")
        for name in value if self.words else ():
            if name not in self.words:
                raise section.error(key, f"has {name!r}; {nearest(name, self.words)}")
        if self.words and len(set(value)) < len(value):
            raise section.error(key, f"is {value}; each name once was expected")
        return tuple(value)

    def write(self, value: Any) -> list[str]:
        return list(value)

    def holds(self, value: object) -> bool:
        return isinstance(value, tuple)

    def schema(self) -> dict[str, Any]:
        item: dict[str, Any] = {"enum": list(self.words)} if self.words else {"type": "string"}
        least = self.count if self.count is not None else int(not self.empty)
        most = {} if self.count is None else {"maxItems": self.count}
        unique = {"uniqueItems": True} if self.words else {}
        return {"type": "array", "items": item, "minItems": least, **most, **unique}

    def expected(self) -> str:
        count = "" if self.count is None else f"{self.count} "
        return f"a list of {count}names" + (f" of {', '.join(self.words)}" if self.words else "")


@dataclass(frozen=True, kw_only=True)
class Span(Kind):
    """`[low, high]` within bounds.

    Attributes:
        low, high: bounds of both ends.
        point: a single number is a range too, from itself to itself.
        equal: both ends may be equal.
        digits: significant digits that are written; None for all.
    """

    FORMS = (list,)

    low: float = -math.inf
    high: float = math.inf
    point: bool = False
    equal: bool = False
    digits: int | None = None

    def has_form(self, value: object) -> bool:
        return isinstance(value, list) or (self.point and is_number(value))

    def read(self, section: Section, key: str) -> tuple[float, float]:
        value = section.raw(key)
        ends = [value, value] if self.point and not isinstance(value, list) else value
        if not all_numbers(ends) or len(ends) != 2:
            raise self.refused(section, key)
        low, high = map(float, ends)
        if low > high or (low == high and not (self.point or self.equal)):
            raise section.error(key, f"is {value!r}; the first must not be larger than the second")
        if low < self.low or high > self.high:
            raise section.error(key, f"is {value!r}; it must be {self._end.range}{self.in_unit}")
        return low, high

    def write(self, value: tuple[float, float]) -> Any:
        ends = [self._end.write(end) for end in value]
        return ends[0] if self.point and ends[0] == ends[1] else ends

    def holds(self, value: object) -> bool:
        return isinstance(value, tuple)

    def schema(self) -> dict[str, Any]:
        number = self._end.schema()
        pair = {"type": "array", "items": number, "minItems": 2, "maxItems": 2}
        return {"anyOf": [number, pair]} if self.point else pair

    def expected(self) -> str:
        return f"{'a number or ' if self.point else ''}[low, high]{self.in_unit}"

    @property
    def _end(self) -> Number:
        return Number(low=self.low, high=self.high, digits=self.digits)


@dataclass(frozen=True, kw_only=True)
class Listed(Kind):
    """A list of values of one kind, from `least` to `most` of them."""

    FORMS = (list,)

    item: Kind
    least: int = 0
    most: int | None = None
    what: str = "value"

    def read(self, section: Section, key: str) -> tuple[Any, ...]:
        value = section.raw(key)
        if not isinstance(value, list) or len(value) < self.least or (self.most is not None and len(value) > self.most):
            raise self.refused(section, key)
        entries = section.entries(key)
        return tuple(self.item.read(entries, index) for index in entries)

    def write(self, value: Any) -> list[Any]:
        return [self.item.write(item) for item in value]

    def holds(self, value: object) -> bool:
        return isinstance(value, tuple)

    def schema(self) -> dict[str, Any]:
        most = {} if self.most is None else {"maxItems": self.most}
        return {"type": "array", "items": self.item.schema(), "minItems": self.least, **most}

    def definitions(self) -> dict[str, Any]:
        return self.item.definitions()

    def expected(self) -> str:
        if self.most is not None and self.least == self.most:
            return f"a list of {self.least} {self.what}s (each {self.item.expected()})"
        count = f" of {self.least} to {self.most}" if self.most is not None else ""
        return f"a list{count or ' of'} {self.what}s"


@dataclass(frozen=True, kw_only=True)
class Mapped(Kind):
    """A mapping from names to values of one kind.

    Attributes:
        names: regular expression of a name. form: the same in words.
        least, most: how many entries there may be.
        what: what an entry is, for messages.
    """

    FORMS = (dict,)

    item: Kind
    names: str = r"[^\s].*"
    form: str = "any text"
    least: int = 0
    most: int | None = 64
    what: str = "value"

    def read(self, section: Section, key: str) -> Any:
        return self.read_entries(section, key)

    def read_entries(self, section: Section, key: str) -> dict[str, Any]:
        if not isinstance(section.raw(key), dict | NoneType):
            raise self.refused(section, key)
        inner = section.section(key)
        self.check_names(inner)
        return {name: self.item.read(inner, name) for name in inner}

    def check_names(self, section: Section) -> None:
        names = list(section)
        if len(names) < self.least:
            raise section.error("", f"has {len(names)} {self.what}s; {self.least} at least were expected: {self.help}")
        if self.most is not None and len(names) > self.most:
            raise section.error(names[self.most], f"is {self.what} number {len(names)}; {self.most} at most")
        for name in names:
            if not isinstance(name, str) or not matches(self.names, name):
                raise section.error(str(name), f"is not a valid name of a {self.what}; {self.form} was expected")

    def write(self, value: Any) -> dict[str, Any]:
        return {name: self.item.write(entry) for name, entry in value.items()}

    def holds(self, value: object) -> bool:
        return isinstance(value, Mapping)

    def schema(self) -> dict[str, Any]:
        most = {} if self.most is None else {"maxProperties": self.most}
        return {
            **({"type": "object", "minProperties": self.least} if self.least else {"type": ["object", "null"]}),
            "propertyNames": {"pattern": f"^{self.names}$"},
            **most,
            "additionalProperties": self.item.schema(),
        }

    def definitions(self) -> dict[str, Any]:
        return self.item.definitions()

    def expected(self) -> str:
        return f"a mapping from the name of a {self.what} to its {'settings' if dict in self.item.FORMS else 'value'}"


@dataclass(frozen=True, kw_only=True)
class Keyed(Kind):
    """A section whose keys come from a table: key -> kind. It is read as a dict of the keys that the file has."""

    FORMS = (dict,)

    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def read(self, section: Section, key: str) -> dict[str, Any]:
        if not isinstance(section.raw(key), dict | NoneType):
            raise self.refused(section, key)
        inner = section.section(key)
        for name in self.kinds:
            inner.expect(name)
        inner.finish()
        return {name: kind.read(inner, name) for name, kind in self.kinds.items() if name in inner}

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.kinds[name].write(entry) for name, entry in value.items()}

    def schema(self) -> dict[str, Any]:
        keys = {
            name: kind.schema() | ({"description": kind.help + kind.in_unit} if kind.help else {})
            for name, kind in self.kinds.items()
        }
        return {"type": ["object", "null"], "additionalProperties": False, "properties": keys}

    def definitions(self) -> dict[str, Any]:
        return {name: schema for kind in self.kinds.values() for name, schema in kind.definitions().items()}

    def expected(self) -> str:
        return f"a mapping of {', '.join(self.kinds)}"


@dataclass(frozen=True, kw_only=True)
class OneOf(Kind):
    """A value of one of several kinds, which the form of the value decides."""

    FORMS = (object,)

    kinds: tuple[Kind, ...]

    def read(self, section: Section, key: str) -> Any:
        value = section.raw(key)
        for kind in self.kinds:
            if kind.has_form(value):
                try:
                    return kind.read(section, key)
                except ConfigError:
                    if isinstance(value, (dict, list)):  # no other kind has this form
                        raise
        raise self.refused(section, key)

    def has_form(self, value: object) -> bool:
        return any(kind.has_form(value) for kind in self.kinds)

    def write(self, value: Any) -> Any:
        return next(kind for kind in self.kinds if kind.holds(value)).write(value)

    def holds(self, value: object) -> bool:
        return any(kind.holds(value) for kind in self.kinds)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [kind.schema() for kind in self.kinds]}

    def definitions(self) -> dict[str, Any]:
        return {name: schema for kind in self.kinds for name, schema in kind.definitions().items()}

    def expected(self) -> str:
        return ", or ".join(kind.expected() for kind in self.kinds)


@dataclass(frozen=True, kw_only=True)
class Null(Kind):
    """null in the file, None in Python."""

    FORMS = (type(None),)

    def read(self, section: Section, key: str) -> None:
        if section.raw(key) is not None:
            raise self.refused(section, key)

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}

    def expected(self) -> str:
        return "null"

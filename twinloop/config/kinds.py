"""Kinds of values in a file: how each one is read, checked, written and described.

A record declares its keys with the helpers of `fields.py`, and each helper makes one of these kinds. A value with a
form of its own (a distribution, a robot) is a subclass with the same methods. `compound.py` has lists, mappings and
unions; `record.py` has sections that are records.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

from twinloop.config.section import Section, is_number
from twinloop.errors import ConfigError, nearest


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """The kind of value that a key may hold.

    Attributes:
        help: one sentence for the reference page and for editors.
        unit: unit of the value; "" for none.
        key: name in the file, where it differs from the attribute's name.
        default: what the reference page says for a default that only the reader knows; "" for the field's own.
        absent: value of a key that the file does not have, for a field that has no default in Python; None: required.
        required: the file must have the key, although the field has a default in Python.
        omit_default: the writer leaves the key out if it has the default value.
    """

    FORMS: ClassVar[tuple[type, ...]]
    """Python types of the JSON values that have the form of this kind, valid or not."""

    help: str = ""
    unit: str = ""
    key: str = ""
    default: str = ""
    absent: Any = None
    required: bool = False
    omit_default: bool = False

    @abstractmethod
    def read(self, section: Section, key: str) -> Any:
        """The value of `key`, which the section has. ConfigError if it is not valid."""

    def write(self, value: Any) -> Any:
        """The value as JSON, such that `read` gives it back."""
        return value

    def omits(self, value: Any) -> bool:  # noqa: ARG002 - most kinds write all values
        """Whether the writer leaves this value out, because another key of the record has it."""
        return False

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """JSON Schema (draft 2020-12) of the value, without the description."""

    @abstractmethod
    def expected(self) -> str:
        """Valid values in words: `a number from 0 to 1`."""

    def definitions(self) -> dict[str, Any]:
        """Schemas that `schema` refers to as `#/$defs/NAME`."""
        return {}

    def has_form(self, value: object) -> bool:
        """Whether a JSON value has the form of this kind. A union reads a value with the first kind that says yes."""
        return isinstance(value, self.FORMS) and (bool in self.FORMS or not isinstance(value, bool))

    def holds(self, value: object) -> bool:
        """Whether a value of Python is one of this kind. A union writes a value with the first kind that says yes."""
        return self.has_form(value)

    def refused(self, section: Section, key: str) -> ConfigError:
        return section.error(key, f"is {section.raw(key)!r:.200}; {self.wanted()}")

    def wanted(self) -> str:
        """The expected value, for messages: `a number from 0 to 1 was expected: the help text`."""
        return f"{self.expected()} was expected" + (f": {self.help}" if self.help else "")

    @property
    def in_unit(self) -> str:
        return f" ({self.unit})" if self.unit else ""


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    """A number from `low` to `high`.

    Attributes:
        above: `low` itself is not valid.
        digits: significant digits that are written; None for all.
    """

    FORMS = (int, float)

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    digits: int | None = None

    def read(self, section: Section, key: str) -> float:
        value = section.raw(key)
        if not self.has_form(value):
            raise self.refused(section, key)
        if not self.in_range(value):
            raise section.error(key, f"is {value:g}; it must be {self.range}")
        return float(value)

    def write(self, value: float) -> float:
        return value if self.digits is None else float(f"{value:.{self.digits}g}")

    def in_range(self, value: float) -> bool:
        if self.low == -math.inf and self.high == math.inf:
            return True  # NaN too, which only files of our own may have: the reader of YAML refuses it
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def schema(self) -> dict[str, Any]:
        least = "exclusiveMinimum" if self.above else "minimum"
        bounds = {least: self.low, "maximum": self.high}
        return {"type": "number", **{name: bound for name, bound in bounds.items() if math.isfinite(bound)}}

    @property
    def range(self) -> str:
        """The valid range in words: `from 0 to 1`."""
        if self.above:
            return f"above {self.low:g}" + (f", {self.high:g} at most" if math.isfinite(self.high) else "")
        ends = [f"from {self.low:g}"] if math.isfinite(self.low) else []
        ends += [f"to {self.high:g}"] if math.isfinite(self.high) else []
        return " ".join(ends) or "finite"

    def expected(self) -> str:
        bounded = math.isfinite(self.low) or math.isfinite(self.high)
        return f"a number{self.in_unit}" + (f" {self.range}" if bounded else "")


@dataclass(frozen=True, kw_only=True)
class Integer(Kind):
    """A whole number from `low` to `high`, without bound where that is None."""

    FORMS = (int,)

    low: int | None = None
    high: int | None = None

    def read(self, section: Section, key: str) -> int:
        value = section.raw(key)
        if not self.has_form(value):
            raise self.refused(section, key)
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise section.error(key, f"is {value}; it must be{self.range}")
        return value

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.low, "maximum": self.high}
        return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}

    @property
    def range(self) -> str:
        low = "" if self.low is None else f" from {self.low}"
        return low if self.high is None else f"{low} to {self.high}"

    def expected(self) -> str:
        return f"a whole number{self.in_unit}{self.range}"


@dataclass(frozen=True, kw_only=True)
class Version(Kind):
    """The version of a file's format; only `current` is read. It is read first: other versions have other keys."""

    FORMS = (int,)

    current: int
    required: bool = True

    def read(self, section: Section, key: str) -> int:
        value = section.raw(key)
        if value != self.current or isinstance(value, bool):
            raise section.error(key, f"is {value!r:.60}; this Twinloop reads version {self.current}: {self.help}")
        return self.current

    def schema(self) -> dict[str, Any]:
        return {"const": self.current}

    def expected(self) -> str:
        return f"the version {self.current}"


@dataclass(frozen=True, kw_only=True)
class Flag(Kind):
    FORMS = (bool,)

    def read(self, section: Section, key: str) -> bool:
        value = section.raw(key)
        if not isinstance(value, bool):
            raise self.refused(section, key)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def expected(self) -> str:
        return "true or false"


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """Any text.

    Attributes:
        filled: an empty text is refused.
        pattern: regular expression that the whole text must match. form: the same in words.
        loose: a number or true/false is read as text too: `unit: 1` is `unit: "1"`.
    """

    FORMS = (str,)

    filled: bool = False
    pattern: str = ""
    form: str = ""
    loose: bool = False

    def has_form(self, value: object) -> bool:
        return isinstance(value, (str, int, float) if self.loose else str)

    def read(self, section: Section, key: str) -> str:
        value = section.raw(key)
        if not self.has_form(value):
            raise self.refused(section, key)
        value = str(value)
        if self.filled and not value:
            raise section.error(key, f"is empty; {self.wanted()}")
        if self.pattern and not matches(self.pattern, value):
            raise self.refused(section, key)
        return value

    def schema(self) -> dict[str, Any]:
        filled = {"minLength": 1} if self.filled else {}
        types = ["string", "number", "boolean"] if self.loose else "string"
        return {"type": types, **filled, **({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})}

    def expected(self) -> str:
        return self.form or "a text"


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


@dataclass(frozen=True, kw_only=True)
class Word(Kind):
    """One of some words, the same inside as in the file."""

    FORMS = (str,)

    words: tuple[str, ...]

    def read(self, section: Section, key: str) -> str:
        value = section.raw(key)
        if not isinstance(value, str):
            raise self.refused(section, key)
        if value not in self.words:
            raise section.error(key, f"is {value!r}; {nearest(value, self.words)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}

    def expected(self) -> str:
        return f"{'one of' if len(self.words) > 1 else 'the word'} {', '.join(self.words)}"


@dataclass(frozen=True, kw_only=True)
class Alias(Kind):
    """A word that stands for a value: `hardware` for a limit of infinity."""

    FORMS = (str,)

    word: str
    value: Any

    def read(self, section: Section, key: str) -> Any:
        if section.raw(key) != self.word:
            raise self.refused(section, key)
        return self.value

    def write(self, value: Any) -> str:  # noqa: ARG002 - there is only one
        return self.word

    def holds(self, value: object) -> bool:
        return value == self.value

    def schema(self) -> dict[str, Any]:
        return {"const": self.word}

    def expected(self) -> str:
        return f"the word {self.word}"


@dataclass(frozen=True, kw_only=True)
class Named(Kind):
    """An object of a registry, written by its name. `registry` is called when needed: plugins may add to it."""

    FORMS = (str,)

    registry: Callable[[], Mapping[str, Any]]

    def read(self, section: Section, key: str) -> Any:
        known = self.registry()
        return known[Word(words=tuple(known)).read(section, key)]

    def write(self, value: Any) -> str:
        return value.name

    def schema(self) -> dict[str, Any]:
        return {"enum": sorted(self.registry())}

    def expected(self) -> str:
        return f"one of {', '.join(sorted(self.registry()))}"


@dataclass(frozen=True, kw_only=True)
class Day(Kind):
    """A day, written as 2027-12-31."""

    FORMS = (str,)

    def read(self, section: Section, key: str) -> date:
        value = section.raw(key)
        try:
            return date.fromisoformat(value)
        except (ValueError, TypeError):
            raise self.refused(section, key) from None

    def write(self, value: date) -> str:
        return value.isoformat()

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date"}

    def holds(self, value: object) -> bool:
        return isinstance(value, date)

    def expected(self) -> str:
        return "a day like 2027-12-31"


@dataclass(frozen=True, kw_only=True)
class AnyValue(Kind):
    """Any JSON value; for settings that another program reads."""

    FORMS = (object,)

    def read(self, section: Section, key: str) -> Any:
        return section.raw(key)

    def schema(self) -> dict[str, Any]:
        return {}

    def expected(self) -> str:
        return "any value"


def all_numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(is_number, value))

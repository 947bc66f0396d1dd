"""Kinds of values in a file: how each one is read, checked, written and described.

A record declares its keys with the helpers of `fields.py`, and each helper makes one of these kinds. A value with a
form of its own (a distribution, a robot) is a subclass with the same four methods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twinloop.config.section import Section, is_number
from twinloop.errors import nearest


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a key may hold.

    Attributes:
        help: one sentence for the reference page and for editors.
        unit: unit of the value; "" for none.
        key: name in the file, where it differs from the attribute's name.
        default: what the reference page says for a default that only the reader knows; "" for the field's own.
        absent: value of a key that the file does not have, for a field that has no default in Python; None: required.
    """

    help: str = ""
    unit: str = ""
    key: str = ""
    default: str = ""
    absent: Any = None

    def read(self, section: Section, key: str) -> Any:
        """The value of `key`, which the section has. ConfigError if it is not valid."""
        raise NotImplementedError

    def write(self, value: Any) -> Any:
        """The value as JSON, such that `read` gives it back."""
        return value

    def schema(self) -> dict[str, Any]:
        """JSON Schema (draft 2020-12) of the value, without the description."""
        raise NotImplementedError

    @property
    def in_unit(self) -> str:
        return f" ({self.unit})" if self.unit else ""

    def definitions(self) -> dict[str, Any]:
        """Schemas that `schema` refers to as `#/$defs/NAME`."""
        return {}

    def expected(self) -> str:
        """What is valid, in words: `a number from 0 to 1`."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    low: float
    high: float

    def read(self, section: Section, key: str) -> float:
        return section.number(key, self.low, low=self.low, high=self.high)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def expected(self) -> str:
        return f"a number{self.in_unit} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, kw_only=True)
class Integer(Kind):
    low: int
    high: int

    def read(self, section: Section, key: str) -> int:
        return section.integer(key, self.low, low=self.low, high=self.high)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def expected(self) -> str:
        return f"a whole number{self.in_unit} from {self.low} to {self.high}"


@dataclass(frozen=True, kw_only=True)
class Flag(Kind):
    def read(self, section: Section, key: str) -> bool:
        return section.flag(key, False)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def expected(self) -> str:
        return "true or false"


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """`filled`: an empty text is refused."""

    filled: bool = False

    def read(self, section: Section, key: str) -> str:
        value = section.text(key, "")
        if self.filled and not value:
            raise section.error(key, f"is empty; {self.expected()} was expected")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1} if self.filled else {"type": "string"}

    def expected(self) -> str:
        return "a text"


@dataclass(frozen=True, kw_only=True)
class Word(Kind):
    """One of some words, the same inside as in the file."""

    words: tuple[str, ...]

    def read(self, section: Section, key: str) -> str:
        return section.one_of(key, "", {word: word for word in self.words})

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}

    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"


@dataclass(frozen=True, kw_only=True)
class Named(Kind):
    """An object of a registry, written by its name. `registry` is called when needed: plugins may add to it."""

    registry: Callable[[], Mapping[str, Any]]

    def read(self, section: Section, key: str) -> Any:
        return section.one_of(key, "", dict(self.registry()))

    def write(self, value: Any) -> str:
        return value.name

    def schema(self) -> dict[str, Any]:
        return {"enum": sorted(self.registry())}

    def expected(self) -> str:
        return f"one of {', '.join(sorted(self.registry()))}"


@dataclass(frozen=True, kw_only=True)
class Numbers(Kind):
    """A list of numbers; `count` of them, or any number of them."""

    low: float
    high: float
    count: int | None = None

    def read(self, section: Section, key: str) -> tuple[float, ...]:
        value = section.raw(key)
        numbers = isinstance(value, list) and len(value) > 0 and all(is_number(item) for item in value)
        if not numbers or self.count not in (None, len(value)):
            raise section.error(key, f"is {value!r}; {self.expected()} was expected")
        if not all(self.low <= item <= self.high for item in value):
            raise section.error(key, f"is {value!r}; {self.expected()} was expected")
        return tuple(float(item) for item in value)

    def write(self, value: Any) -> list[float]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        item = {"type": "number", "minimum": self.low, "maximum": self.high}
        bounds = {"minItems": 1} if self.count is None else {"minItems": self.count, "maxItems": self.count}
        return {"type": "array", "items": item, **bounds}

    def expected(self) -> str:
        count = "" if self.count is None else f"{self.count} "
        return f"a list of {count}numbers{self.in_unit} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, kw_only=True)
class Texts(Kind):
    """A list of texts; of `words` only, if there are any, and then each once. `empty`: may it be []?"""

    words: tuple[str, ...] = ()
    count: int | None = None
    empty: bool = False

    def read(self, section: Section, key: str) -> tuple[str, ...]:
        if self.empty and section.raw(key) == []:
            return ()
        given = section.texts(key)
        if self.count not in (None, len(given)):
            raise section.error(key, f"has {len(given)} entries; {self.expected()} was expected")
        for name in given if self.words else ():
            if name not in self.words:
                raise section.error(key, f"has {name!r}; {nearest(name, self.words)}")
        if self.words and len(set(given)) < len(given):
            raise section.error(key, f"is {list(given)}; each name once was expected")
        return given

    def write(self, value: Any) -> list[str]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        item: dict[str, Any] = {"enum": list(self.words)} if self.words else {"type": "string"}
        least = self.count if self.count is not None else int(not self.empty)
        most = {} if self.count is None else {"maxItems": self.count}
        unique = {"uniqueItems": True} if self.words else {}
        return {"type": "array", "items": item, "minItems": least, **most, **unique}

    def expected(self) -> str:
        count = "" if self.count is None else f"{self.count} "
        return f"a list of {count}" + (f"words of {', '.join(self.words)}" if self.words else "names")

"""Fields of records that are read from files: `rate_hz: float = number(25, low=1, high=1000, unit="Hz", help="...")`.

Each helper returns a dataclass field that carries its kind. A field without a default is required in the file.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field
from typing import Any

from twinloop.config.kinds import Flag, Integer, Kind, Named, Number, Numbers, Text, Texts, Word

KIND = "kind"


def of_kind(kind: Kind, default: Any = MISSING, *, default_factory: Any = MISSING) -> Any:
    """A field of any kind; for kinds with a form of their own."""
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata={KIND: kind})
    return field(default=default, metadata={KIND: kind})


def kind_of(declared: Field) -> Kind | None:
    """The kind of a dataclass field; None for a field that no file has."""
    return declared.metadata.get(KIND)


def number(
    default: Any = MISSING, *, low: float, high: float, unit: str = "", help: str, key: str = "", otherwise: str = ""
) -> Any:
    """`otherwise`: what the reference page says of a default that only the reader knows."""
    return of_kind(Number(low=low, high=high, unit=unit, help=help, key=key, default=otherwise), default)


def integer(
    default: Any = MISSING, *, low: int, high: int, unit: str = "", help: str, otherwise: str = ""
) -> Any:  # fmt: skip
    return of_kind(Integer(low=low, high=high, unit=unit, help=help, default=otherwise), default)


def flag(default: Any = MISSING, *, help: str) -> Any:
    return of_kind(Flag(help=help), default)


def text(default: Any = MISSING, *, help: str, filled: bool = False, key: str = "") -> Any:
    return of_kind(Text(help=help, filled=filled, key=key), default)


def word(default: Any = MISSING, *, words: tuple[str, ...], help: str, absent: str | None = None) -> Any:
    return of_kind(Word(words=words, help=help, absent=absent), default)


def named(registry: Callable[[], Mapping[str, Any]], default: Any = MISSING, *, help: str, otherwise: str = "") -> Any:
    return of_kind(Named(registry=registry, help=help, default=otherwise), default)


def numbers(
    default: Any = MISSING, *, low: float, high: float, count: int | None = None, unit: str = "", help: str,
    key: str = "", otherwise: str = "",
) -> Any:  # fmt: skip
    kind = Numbers(low=low, high=high, count=count, unit=unit, help=help, key=key, default=otherwise)
    return of_kind(kind, default)


def texts(
    default: Any = MISSING, *, words: tuple[str, ...] = (), count: int | None = None, empty: bool = False, help: str,
    key: str = "",
) -> Any:  # fmt: skip
    return of_kind(Texts(words=words, count=count, empty=empty, help=help, key=key), default)

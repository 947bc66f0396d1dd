"""Fields of records that are read from files: `rate_hz: float = number(25, low=1, high=1000, unit="Hz", help="...")`.

Each helper returns a dataclass field that carries its kind. A field without a default is required in the file.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field
from typing import Any

from twinloop.config.compound import Listed, Mapped, Numbers, Span, Texts
from twinloop.config.kinds import Day, Flag, Integer, Kind, Named, Number, Text, Version, Word

KIND = "kind"


def of_kind(kind: Kind, default: Any = MISSING, *, default_factory: Any = MISSING) -> Any:
    """A field of any kind; for kinds with a form of their own."""
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata={KIND: kind})
    return field(default=default, metadata={KIND: kind})


def internal(default: Any = MISSING) -> Any:
    """A field that no file has; the caller of the reader gives its value."""
    return field(default=default, metadata={KIND: None})


def is_internal(declared: Field) -> bool:
    return KIND in declared.metadata and declared.metadata[KIND] is None


def kind_of(declared: Field) -> Kind | None:
    """The kind that a dataclass field declares; None if it declares none."""
    return declared.metadata.get(KIND)


def number(
    default: Any = MISSING, *, low: float = -math.inf, high: float = math.inf, above: bool = False, unit: str = "",
    help: str, key: str = "", otherwise: str = "", digits: int | None = None,
) -> Any:  # fmt: skip
    """`above`: `low` itself is not valid. `otherwise`: what the reference page says of a default that only the reader
    knows. `digits`: significant digits that are written."""
    kind = Number(low=low, high=high, above=above, unit=unit, help=help, key=key, default=otherwise, digits=digits)
    return of_kind(kind, default)


def integer(
    default: Any = MISSING, *, low: int, high: int | None = None, unit: str = "", help: str, otherwise: str = ""
) -> Any:  # fmt: skip
    return of_kind(Integer(low=low, high=high, unit=unit, help=help, default=otherwise), default)


def version(current: int, *, help: str = "version of the format") -> Any:
    """The version of the file's format: required in the file, `current` in Python."""
    return of_kind(Version(current=current, help=help), current)


def flag(default: Any = MISSING, *, help: str) -> Any:
    return of_kind(Flag(help=help), default)


def text(
    default: Any = MISSING, *, help: str, filled: bool = False, pattern: str = "", form: str = "", key: str = "",
    otherwise: str = "",
) -> Any:  # fmt: skip
    """`pattern`: a regular expression; `form`: the same in words."""
    return of_kind(Text(help=help, filled=filled, pattern=pattern, form=form, key=key, default=otherwise), default)


def day(default: Any = MISSING, *, help: str) -> Any:
    return of_kind(Day(help=help), default)


def word(default: Any = MISSING, *, words: tuple[str, ...], help: str, absent: str | None = None) -> Any:
    return of_kind(Word(words=words, help=help, absent=absent), default)


def named(registry: Callable[[], Mapping[str, Any]], default: Any = MISSING, *, help: str, otherwise: str = "") -> Any:
    return of_kind(Named(registry=registry, help=help, default=otherwise), default)


def numbers(
    default: Any = MISSING, *, low: float = -math.inf, high: float = math.inf, count: int | None = None, unit: str = "",
    help: str, key: str = "", otherwise: str = "",
) -> Any:  # fmt: skip
    kind = Numbers(low=low, high=high, count=count, unit=unit, help=help, key=key, default=otherwise)
    return of_kind(kind, default)


def span(
    default: Any = MISSING, *, low: float = -math.inf, high: float = math.inf, point: bool = False, unit: str = "",
    help: str,
) -> Any:  # fmt: skip
    """`[low, high]`; with `point` a single number too."""
    return of_kind(Span(low=low, high=high, point=point, unit=unit, help=help), default)


def texts(
    default: Any = MISSING, *, words: tuple[str, ...] = (), count: int | None = None, empty: bool = False, help: str,
    key: str = "",
) -> Any:  # fmt: skip
    return of_kind(Texts(words=words, count=count, empty=empty, help=help, key=key), default)


def listed(item: Kind, default: Any = MISSING, *, least: int = 0, most: int | None = None, what: str, help: str) -> Any:
    """A list of values of one kind."""
    return of_kind(Listed(item=item, least=least, most=most, what=what, help=help), default)


def mapped(item: Kind, *, what: str, help: str, most: int | None = 64) -> Any:
    """A mapping from names to values of one kind; empty by default."""
    return of_kind(Mapped(item=item, what=what, help=help, most=most), default_factory=dict)

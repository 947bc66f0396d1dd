"""The kind of a field that follows from its annotation, and its help from the docstring of its class."""

import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date
from functools import cache
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from twinloop.config.compound import Listed, Mapped, Null, OneOf
from twinloop.config.kinds import AnyValue, Day, Flag, Integer, Kind, Number, Text, Word

SCALARS: dict[Any, type[Kind]] = {
    bool: Flag, int: Integer, float: Number, str: Text, date: Day, NoneType: Null, Any: AnyValue, object: AnyValue
}  # fmt: skip


def kind_for(annotation: Any, nested: Callable[..., Kind], *, help: str = "") -> Kind:
    """The kind of an annotation. `nested` makes the kind of a section that is a record.

    Raises:
        TypeError: no kind belongs to the annotation; the field needs one of its own.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)

    def inner(argument: Any) -> Kind:
        return kind_for(argument, nested)

    if annotation in SCALARS:
        return SCALARS[annotation](help=help)
    if origin is Literal:
        return Word(words=arguments, help=help)
    if origin in (Union, UnionType):
        return OneOf(kinds=tuple(map(inner, arguments)), help=help)
    if origin is tuple and arguments[-1] is Ellipsis:
        return Listed(item=inner(arguments[0]), help=help)
    if origin is tuple and len(set(arguments)) == 1:
        return Listed(item=inner(arguments[0]), least=len(arguments), most=len(arguments), help=help)
    if origin in (dict, Mapping):
        return Mapped(item=inner(arguments[1]), names=".*", most=None, help=help)
    if is_dataclass(annotation):
        return nested(record=annotation, help=help)
    raise TypeError(f"{annotation}: declare the field with a helper of `fields`, or as `internal`")


@cache
def attribute_help(record: type) -> dict[str, str]:
    """Attribute -> its text in the `Attributes:` part of the docstring."""
    _, _, block = (getdoc(record) or "").partition("Attributes:\n")
    texts: dict[str, str] = {}
    for entry in re.split(r"\n(?= {4}\S)", block.partition("\n\n")[0]):
        names, _, text = entry.strip().partition(": ")
        for name in names.split(", "):
            texts[name] = " ".join(text.split()).rstrip(".")
    return texts

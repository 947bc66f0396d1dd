"""Reference pages: the keys of a record as rows of Markdown tables."""

import json
from collections.abc import Iterator
from dataclasses import Field, dataclass

from twinloop.config.compound import Keyed, Listed, Mapped
from twinloop.config.kinds import Kind
from twinloop.config.record import Nested, declared, default_of, is_required


@dataclass(frozen=True)
class ReferenceRow:
    """One key of a reference page, as Markdown text."""

    key: str
    default: str
    valid: str
    help: str


def reference(record: type) -> dict[str, list[ReferenceRow]]:
    """Section -> its keys, for every section of a file that is a record or a mapping to records."""
    return {
        f"{key}{suffix}": [_row(*entry) for entry in declared(inner)]
        for key, _, kind in declared(record)
        for inner, suffix in _inside(kind)
    }


def reference_rows(record: type) -> Iterator[ReferenceRow]:
    """All keys of a file, with the keys of its sections below them as `section.key`; those of a record once."""
    yield from _rows(record, "", set())


def _rows(record: type, prefix: str, done: set[type]) -> Iterator[ReferenceRow]:
    done.add(record)
    for key, declared_field, kind in declared(record):
        yield _row(prefix + key, declared_field, kind)
        for inner, suffix in _inside(kind):
            if inner not in done:
                yield from _rows(inner, f"{prefix}{key}{suffix}.", done)


def _inside(kind: Kind) -> Iterator[tuple[type, str]]:
    """(record, what follows the key) of a kind that is a record, or a mapping to or list of records."""
    if isinstance(kind, Nested):
        yield kind.record, ""
    elif isinstance(kind, (Mapped, Listed)) and isinstance(kind.item, Nested):
        yield kind.item.record, ".NAME" if isinstance(kind, Mapped) else "[]"
    elif isinstance(kind, Keyed):
        for key, inner_kind in kind.kinds.items():
            for record, suffix in _inside(inner_kind):
                yield record, f".{key}{suffix}"


def _row(key: str, declared_field: Field, kind: Kind) -> ReferenceRow:
    default = default_of(declared_field) if kind.absent is None else kind.absent
    if kind.default:
        text = kind.default
    elif is_required(declared_field, kind):
        text = "required"
    elif default is None or kind.write(default) in ({}, [], ""):
        text = "none"
    elif isinstance(kind, Nested):
        text = "its own"  # the rows of its keys have it
    else:
        text = f"`{json.dumps(kind.write(default)).strip(chr(34))}`"
    return ReferenceRow(key, text, kind.expected(), kind.help)

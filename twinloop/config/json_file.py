"""Reading records from JSON: files from outside, bounded in size, with errors that name file and key."""

import json
from pathlib import Path
from typing import Any, TypeVar

from twinloop.config.kinds import Kind
from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.durable import read_bounded
from twinloop.errors import ConfigError, TwinloopError

R = TypeVar("R")


def load_json(path: Path, *, max_bytes: int, what: str, error: type[TwinloopError]) -> Any:
    """The content of a JSON file. `what`: what it should be, for messages: `a plan`."""
    data = read_bounded(path, max_bytes, error=error)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: is not JSON ({problem!s:.200}); {what} was expected") from None


def record_from_json(record: type[R], value: object, *, where: str, error: type[TwinloopError]) -> R:
    """A record from the content of a JSON file. `error` is raised for what is not valid, `where` is in its message."""
    try:
        return read_record(record, Section(where, "", value, {}))
    except ConfigError as problem:
        raise error(str(problem)) from None


def value_from_json(kind: Kind, value: object, *, where: str, error: type[TwinloopError]) -> Any:
    """A value of any kind, for files that hold no mapping."""
    try:
        return kind.read(Section(where, "", {"": value}, {}), "")
    except ConfigError as problem:
        raise error(str(problem)) from None

"""Measured figures that are shipped with the package and that every diagnosis uses."""

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar

from twinloop.errors import CorruptError

Figures = TypeVar("Figures")


def shipped_figures(name: str, key: str, build: Callable[[list[dict[str, Any]]], Figures]) -> Figures:
    """The figures of a shipped JSON file.

    Args:
        name: file in this package.
        key: the list in it that holds the measurements.
        build: makes the figures of that list.
    """
    text = files("twinloop.diagnose").joinpath(name).read_text(encoding="utf-8")
    try:
        return build(json.loads(text)[key])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptError(f"{name} (shipped): cannot be read ({error!s:.80}); install twinloop again") from None

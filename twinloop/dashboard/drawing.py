"""Draws Vega-Lite specifications as SVG, in this process or in processes that were prepared for it.

vl-convert runs a JavaScript engine, which takes half a second to start and blocks the other threads of its process. A
command that will write a large page calls `prepare_drawing`, so that the engine starts while the command does other
things, and charts are drawn in parallel.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twinloop.fleet.local import count_prepared, prepare, run_local

VEGALITE_VERSION = "6.4"
MAX_PROCESSES = 2

Item = tuple[int, Mapping[str, Any]]
"""Number of a chart and its specification."""


def prepare_drawing(most: int) -> None:
    """Start the processes that draw the charts of the next page, at most `most`. One would save nothing."""
    processes = min(most, MAX_PROCESSES, os.cpu_count() or 1)
    if processes > 1:
        prepare(__name__, processes - count_prepared(__name__))


def draw_all(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The SVG of each specification."""
    drawings = run_local(draw, None, enumerate(specs), workers=max(1, count_prepared(__name__)))
    return [drawing for _, drawing in sorted((number, drawing) for (number, _), drawing in drawings)]


def draw(_: None, items: Iterator[Item]) -> Iterator[tuple[Item, str]]:
    for number, spec in items:
        yield (number, spec), _svg(spec)


def warm_up() -> None:
    """Start the JavaScript engine and load the fonts."""
    _svg({"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}})


def _svg(spec: Mapping[str, Any]) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(dict(spec), vl_version=VEGALITE_VERSION, allowed_base_urls=[])

"""Draws Vega-Lite specifications as SVG, in this process or in one that was prepared for it.

vl-convert runs a JavaScript engine, which takes half a second to start and blocks the other threads of its process. A
command that will write a large page calls `prepare_drawing`, so that the engine starts and draws while the command does
other things. A second process would draw half of the charts, but its start takes as long as drawing that half.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twinloop.fleet.local import count_prepared, prepare, run_local

VEGALITE_VERSION = "6.4"

Item = tuple[int, Mapping[str, Any]]
"""Number of a chart and its specification."""


def prepare_drawing(workers: int) -> None:
    """Start the process that draws the charts of the next page. A run with one worker starts none."""
    if workers > 1 and not count_prepared(__name__):
        prepare(__name__, 1)


def draw_all(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The SVG of each specification."""
    drawings = run_local(draw, None, enumerate(specs), workers=1, apart=count_prepared(__name__) > 0)
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

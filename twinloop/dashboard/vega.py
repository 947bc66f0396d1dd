"""Chart: a Vega-Lite specification that becomes an inline SVG, or an interactive chart of the same look.

Colours are CSS variables of the page (`var(--blue)`), so one SVG follows the reader's light or dark theme. The text of
the channel `description` is the tooltip of a mark.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from twinloop.dashboard.drawing import draw_all

FONT = "Liberation Sans"
"""Vega measures text with this font. vl-convert carries it, so a machine without fonts gives the same chart."""

BLUE, ORANGE, GREEN, SOFT, TEXT = (f"var(--{name})" for name in ("blue", "orange", "green", "soft", "text"))
GRID, CARD = "var(--grid)", "var(--card)"
PHASES = tuple(f"var(--p{index})" for index in range(8))
JOINTS = tuple(f"var(--j{index})" for index in range(7))

CONFIG: dict[str, Any] = {
    "background": None,
    "padding": 3,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "aria": False, "ticks": False, "labelColor": SOFT, "titleColor": SOFT, "gridColor": GRID, "domainColor": SOFT,
        "domainOpacity": 0.6, "labelFontSize": 11.5, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelPadding": 5, "titlePadding": 7, "labelLimit": 150,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "tickCount": 4},
    "line": {"strokeWidth": 1.8, "strokeJoin": "round", "strokeCap": "round"},
    "text": {"fontSize": 11.5, "fill": SOFT},
    "point": {"filled": True, "opacity": 1},
}  # fmt: skip
FIT_WIDTH = {"type": "fit-x", "contains": "padding"}
MAX_SCALE = 1.25
"""A chart grows with its card, but its text must not become larger than the text around it."""
MIN_SCALE, MAX_NARROW_PX = 0.75, 485
"""Wider charts would be unreadable on a phone, so they scroll there."""


@dataclass(frozen=True)
class Chart:
    """A chart of a page.

    Attributes:
        spec: a Vega-Lite specification without `$schema` and `config`.
        description: the chart in a few words, for readers who cannot see it.
    """

    spec: Mapping[str, Any]
    description: str

    def full_spec(self) -> dict[str, Any]:
        """The specification with schema, theme and sizing."""
        single_view = not {"vconcat", "hconcat", "concat"} & set(self.spec)
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "config": CONFIG,
            **({"autosize": FIT_WIDTH} if single_view else {}),
            **_with_tooltips(self.spec),
        }

    def svg(self, *, standalone: bool = False) -> str:
        """Inline SVG, or with `standalone` the content of an SVG file."""
        (drawing,) = draw_all([self.full_spec()])
        return _slim(drawing, self.description, standalone=standalone)

    def json(self) -> str:
        """The specification as JSON that is safe inside a script element."""
        return json.dumps(self.full_spec(), separators=(",", ":")).replace("<", "\\u003c")


def inline_svgs(charts: Sequence[Chart]) -> list[str]:
    """`svg` of several charts, which are drawn in another process if one was prepared."""
    drawings = draw_all([chart.full_spec() for chart in charts])
    return [
        _slim(drawing, chart.description, standalone=False) for chart, drawing in zip(charts, drawings, strict=True)
    ]


def _with_tooltips(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Only marks with a description get a label; Vega-Lite would otherwise write every value into the SVG."""
    changed = dict(spec)
    for key in ("layer", "vconcat", "hconcat", "concat"):
        if key in changed:
            changed[key] = [_with_tooltips(part) for part in changed[key]]
    if "mark" in changed:
        mark = changed["mark"] if isinstance(changed["mark"], dict) else {"type": changed["mark"]}
        described = changed.get("encoding", {}).get("description")
        changed["mark"] = {**mark, "aria": bool(described)}
        if described:
            changed["encoding"] = {**changed["encoding"], "tooltip": {**described, "type": "nominal"}}
    return changed


_UNUSED = re.compile(
    r' (?:class|role|aria-roledescription|aria-hidden|pointer-events|font-family|version|xmlns(?::\w+)?)="[^"]*"'
)
_EMPTY = re.compile(r'<path class="(?:background|foreground)"[^>]*/>')
_COORDINATES = re.compile(r' (?:d|transform|x1|x2|y1|y2|width|height|x|y)="[^"]*"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_LABELLED = re.compile(r'<(\w+)((?: [\w-]+="[^"]*")*?) aria-label="([^"]*)"([^>]*)/>')
_VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def _slim(drawing: str, description: str, *, standalone: bool) -> str:
    """Drop unused markup, round coordinates to a tenth of a pixel and turn labels into tooltips."""
    size = _VIEW_BOX.search(drawing)
    if size is None:
        raise ValueError("vl-convert wrote an SVG without a viewBox")
    inner = drawing[drawing.index(">") + 1 : drawing.rindex("</svg>")]
    inner = _EMPTY.sub("", inner)
    inner = _UNUSED.sub("", inner)
    inner = _COORDINATES.sub(lambda match: _LONG_NUMBER.sub(_rounded, match[0]), inner)
    inner = _LABELLED.sub(r"<\1\2\4><title>\3</title></\1>", inner)
    while "<g></g>" in inner:
        inner = inner.replace("<g></g>", "")
    width, height = size.groups()
    name = f'role="img" aria-label="{html.escape(description)}"'
    if not standalone:
        limit = f"max-width:{round(MAX_SCALE * float(width))}px"
        wide = float(width) > MAX_NARROW_PX
        limit += f";min-width:{round(MIN_SCALE * float(width))}px" if wide else ""
        svg = f'<svg viewBox="0 0 {width} {height}" style="{limit}" {name}>{inner}</svg>'
        return f'<div class="scroll">{svg}</div>' if wide else svg
    file_head = f'xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    colours, paper = _light_colours(), f'<rect width="{width}" height="{height}" fill="#fff"/>'
    inner = re.sub(r"var\(--(\w+)\)", lambda variable: colours[variable[1]], inner)
    font = f'font-family="{FONT},Arial,Helvetica,sans-serif"'
    return f'<svg {file_head} viewBox="0 0 {width} {height}" {name} {font}>{paper}{inner}</svg>\n'


@cache
def _light_colours() -> dict[str, str]:
    """Name -> colour of the light theme, for files without the style of a page."""
    style = (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    light = style[: style.index("@media")]
    return dict(re.findall(r"--(\w+):(#[0-9a-f]+)", light))


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text

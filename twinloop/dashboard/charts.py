"""Charts of counts and rates, as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.curate.coverage import PairGrid
from twinloop.curate.rates import ParameterRates, Rate
from twinloop.dashboard.svg import Axis, Plot, canvas, number, percent, points, px, safe, tooltip

BAR_ROW_PX = 30


@dataclass(frozen=True)
class Bar:
    """tone: a class of the style: "good", "bad" or "plain"."""

    label: str
    value: int
    tone: str = "plain"


def bars(rows: Sequence[Bar], told: str, *, total: int | None = None, width: float = 480) -> str:
    """Horizontal bars, one a row, with the count and, given a total, its share behind each."""
    most = max([row.value for row in rows], default=0) or 1
    left, room = 118, width - 118 - 104
    marks = []
    for place, row in enumerate(rows):
        middle, length = (place + 0.5) * BAR_ROW_PX, max(row.value / most * room, 1.5 if row.value else 0)
        share = f" · {percent(row.value / total)}" if total and row.value else ""
        marks.append(
            f'<text class="label" x="{left - 8}" y="{px(middle + 4)}" text-anchor="end">{safe(row.label)}</text>'
            f'<rect class="{row.tone}" x="{left}" y="{px(middle - 9)}" width="{px(length)}" height="18" rx="2">'
            f"{tooltip(f'{row.label}: {row.value:,}{share}')}</rect>"
            f'<text x="{px(left + length + 6)}" y="{px(middle + 4)}">{row.value:,}{share}</text>'
        )
    return canvas(width, max(len(rows), 1) * BAR_ROW_PX, told, *marks)


def rate_bars(rows: Sequence[tuple[str, Rate]], told: str, *, width: float = 620) -> str:
    """Rates from 0 to 100 %, one a row, each with its 95 % whisker and what it was counted from."""
    left, room = 118, width - 118 - 190
    marks = []
    for place, (name, rate) in enumerate(rows):
        middle, (low, high) = (place + 0.5) * BAR_ROW_PX, rate.interval
        counted = f"{percent(rate.value)} · {rate.successes:,} of {rate.trials:,}"
        said = f"{name}: {counted} (95 %: {percent(low)} to {percent(high)})"
        length = room * rate.value if rate.trials else 0
        ends = f"M{px(left + room * low)} {px(middle)}H{px(left + room * high)}"
        marks.append(
            f'<text class="label" x="{left - 8}" y="{px(middle + 4)}" text-anchor="end">{safe(name)}</text>'
            f'<rect class="track" x="{left}" y="{px(middle - 9)}" width="{px(room)}" height="18" rx="2"/>'
            f'<rect class="good" x="{left}" y="{px(middle - 9)}" width="{px(length)}" height="18" rx="2">'
            f"{tooltip(said)}</rect>"
            f'<path class="whisker" d="{ends}">{tooltip(said)}</path>'
            f'<text x="{px(left + room + 8)}" y="{px(middle + 4)}">{counted if rate.trials else "never reached"}</text>'
        )
    return canvas(width, max(len(rows), 1) * BAR_ROW_PX, told, *marks)


@dataclass(frozen=True)
class Layer:
    """One series of a stacked histogram."""

    name: str
    counts: np.ndarray
    tone: str = "plain"


def histogram(
    edges: np.ndarray,
    layers: Sequence[Layer],
    across: str,
    told: str,
    *,
    up: str = "episodes",
    width: float = 480,
    height: float = 230,
) -> str:
    """Counts in bins [edges[i], edges[i + 1]), the layers on top of each other."""
    total = np.sum([layer.counts for layer in layers], axis=0)
    small = width < 300
    plot = Plot(
        Axis(float(edges[0]), float(edges[-1]), across, about=4 if small else 6),
        Axis(0, max(float(total.max()), 1) * 1.06, up, whole=True, about=3 if small else 4),
        told,
        width=width,
        height=height,
        left=40 if small else 54,
    )
    marks, below = [], np.zeros(len(total))
    for layer in layers:
        for place in np.flatnonzero(layer.counts):
            left, right = plot.x(edges[place]), plot.x(edges[place + 1])
            top, floor = plot.y(below[place] + layer.counts[place]), plot.y(below[place])
            said = f"{number(edges[place])} to {number(edges[place + 1])}: {layer.counts[place]:,} {layer.name}"
            marks.append(
                f'<rect class="{layer.tone}" x="{px(left + 0.5)}" y="{px(top)}" '
                f'width="{px(max(right - left - 1, 0.6))}" height="{px(floor - top)}">{tooltip(said)}</rect>'
            )
        below = below + layer.counts
    return plot.draw(*marks)


def line(
    x: np.ndarray,
    y: np.ndarray,
    across: Axis,
    up: Axis,
    told: str,
    *,
    breaks: Sequence[tuple[float, str]] = (),
    area: bool = False,
) -> str:
    """One line; `breaks` are vertical rules with a word each."""
    plot = Plot(across, up, told)
    floor, shape = plot.height - plot.bottom, points(plot.x(x), plot.y(y))
    marks = [
        f'<path class="rule" d="M{px(plot.x(at))} {px(plot.top)}V{px(floor)}">{tooltip(word)}</path>'
        for at, word in breaks
    ]
    if area and len(x):
        ends = f"{px(plot.x(x[0]))},{px(floor)} {shape} {px(plot.x(x[-1]))},{px(floor)}"
        marks.append(f'<polygon class="area" points="{ends}"/>')
    marks.append(f'<polyline class="line" points="{shape}"/>')
    return plot.draw(*marks)


def rates(found: ParameterRates, across: str, told: str, *, width: float = 340, height: float = 210) -> str:
    """Success in bins with 95 % whiskers, against the overall rate. Always 0 to 100 %, so charts compare."""
    low, high = float(found.edges[0, 0]), float(found.edges[-1, 1])
    room = (high - low) * 0.03
    plot = Plot(
        Axis(low - room, high + room, across, about=4), Axis(-0.02, 1.02, "success", as_percent=True),
        told, width=width, height=height,
    )  # fmt: skip
    level = px(plot.y(found.overall.value))
    marks = [
        f'<path class="overall" d="M{px(plot.left)} {level}H{px(width - plot.right)}">'
        f"{tooltip(f'overall {percent(found.overall.value)}')}</path>"
    ]
    for (first, last), rate in zip(found.edges, found.bins, strict=True):
        (bottom, top), middle = rate.interval, px(plot.x((first + last) / 2))
        tone = "low" if top < found.overall.value and found.fall else "even"
        said = (
            f"{number(first)} to {number(last)}: {percent(rate.value)} of {rate.trials:,} "
            f"(95 %: {percent(bottom)} to {percent(top)})"
        )
        marks.append(
            f'<g class="{tone}">{tooltip(said)}<path d="M{middle} {px(plot.y(bottom))}V{px(plot.y(top))}'
            f'M{px(plot.x(first))} {px(plot.y(rate.value))}H{px(plot.x(last))}"/>'
            f'<circle cx="{middle}" cy="{px(plot.y(rate.value))}" r="3.5"/></g>'
        )
    return plot.draw(*marks)


def heat(grid: PairGrid, across: str, up: str, told: str) -> str:
    """How often each combination was drawn: the stronger the more often, and empty cells marked."""
    plot = Plot(_cell_axis(grid.first_edges, across), _cell_axis(grid.second_edges, up), told, height=350, left=72)
    most = max(int(grid.counts.max()), 1)
    wide, tall = plot.x(1) - plot.x(0) - 1, plot.y(0) - plot.y(1) - 1
    marks = []
    for column, row in np.ndindex(*grid.counts.shape):
        count = int(grid.counts[column, row])
        look = f'class="cell" fill-opacity="{0.12 + 0.88 * count / most:.2f}"' if count else 'class="empty"'
        marks.append(
            f'<rect {look} x="{px(plot.x(column) + 0.5)}" y="{px(plot.y(row + 1) + 0.5)}" width="{px(wide)}" '
            f'height="{px(tall)}">{tooltip(f"{count:,} episodes" if count else "never drawn")}</rect>'
        )
    return plot.draw(*marks)


def _cell_axis(edges: np.ndarray, label: str) -> Axis:
    """Cells are drawn equally large, as they were counted, whatever their width in the parameter's unit."""
    cells = len(edges) - 1
    places = range(0, cells + 1, max(1, cells // 5))
    return Axis(0, cells, label, named=tuple((place, number(float(edges[place]))) for place in places))


def gauge(value: float, mark: float, mark_name: str, label: str, told: str) -> str:
    """A number on a scale of its own, against one to compare it with."""
    most = max(2 * mark, 1.2 * value)
    plot = Plot(Axis(0, most, label, about=5), Axis(0, 1), told, height=96, left=14, top=24, bottom=48)
    floor, at, end = plot.height - plot.bottom, plot.x(mark), plot.x(value)
    tone = "good" if value < 0.95 * mark else "plain" if value < 1.1 * mark else "bad"
    track = f'<rect class="track" x="{px(plot.x(0))}" y="{plot.top}" width="{px(plot.x(most) - plot.x(0))}"'
    return canvas(
        plot.width,
        plot.height,
        told,
        f'{track} height="{px(floor - plot.top)}"/>',
        f'<rect class="{tone}" x="{px(plot.x(0))}" y="{plot.top}" width="{px(end - plot.x(0))}" '
        f'height="{px(floor - plot.top)}">{tooltip(number(value))}</rect>',
        f'<path class="overall" d="M{px(at)} {px(plot.top - 4)}V{px(floor + 4)}"/>',
        f'<text x="{px(at)}" y="{px(plot.top - 9)}" text-anchor="middle">{safe(mark_name)}</text>',
        plot.labels_across(),
    )

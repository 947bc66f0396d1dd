"""Charts of counts: bars, histograms, and a grid of two parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.curate.coverage import PairGrid
from twinloop.dashboard.charts.channels import COLOUR, TOOLTIP, data, names, quantity
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.vega import BLUE, ORANGE, Chart

BAR_ROW_PX = 28


@dataclass(frozen=True)
class Bar:
    """A named count. colour: a CSS colour."""

    label: str
    value: int
    colour: str = BLUE


def bars(rows: Sequence[Bar], description: str, *, total: int | None = None, width: int = 440) -> Chart:
    """Horizontal bars. Each is followed by its count and, given a total, by its share."""
    most = max([row.value for row in rows], default=0) or 1
    values = []
    for row in rows:
        count = f"{row.value:,}" + (f" · {percent(row.value / total)}" if total and row.value else "")
        values.append(
            {
                "name": row.label,
                "value": row.value,
                "colour": row.colour,
                "count": count,
                "tip": f"{row.label}: {count}",
            }
        )
    x = {"field": "value", "type": "quantitative", "axis": None, "scale": {"domain": [0, most], "nice": False}}
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.64}},
        "encoding": {"x": x, "color": COLOUR, "description": TOOLTIP},
    }
    text = {"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": {"x": x, "text": {"field": "count"}}}
    spec = {
        "data": data(values),
        "width": width,
        "height": max(len(rows), 1) * BAR_ROW_PX,
        "encoding": {"y": names()},
        "layer": [bar, text],
    }
    return Chart(spec, description)


@dataclass(frozen=True)
class Layer:
    """One series of a stacked histogram."""

    name: str
    counts: np.ndarray
    colour: str = BLUE


def histogram(
    edges: np.ndarray,
    layers: Sequence[Layer],
    x_title: str,
    description: str,
    *,
    y_title: str = "episodes",
    width: int = 440,
    height: int = 170,
) -> Chart:
    """Counts in bins [edges[i], edges[i + 1]); the layers are stacked."""
    below = np.zeros(len(edges) - 1)
    rows = []
    for layer in layers:
        for place in np.flatnonzero(layer.counts):
            tip = f"{number(edges[place])} to {number(edges[place + 1])}: {layer.counts[place]:,} {layer.name}"
            top = below[place] + layer.counts[place]
            rows.append(
                {"from": edges[place], "to": edges[place + 1], "low": below[place], "high": top,
                 "colour": layer.colour, "tip": tip}
            )  # fmt: skip
        below = below + layer.counts
    small = width < 300
    encoding = {
        "x": quantity("from", x_title, domain=(edges[0], edges[-1]), ticks=4 if small else 6),
        "x2": {"field": "to"},
        "y": quantity("low", y_title, domain=(0, max(float(below.max()), 1) * 1.04), whole=True, ticks=3),
        "y2": {"field": "high"},
        "color": COLOUR,
        "description": TOOLTIP,
    }
    mark = {"type": "rect", "stroke": "var(--card)", "strokeWidth": 1}
    return Chart(
        {"data": data(rows), "width": width, "height": height, "mark": mark, "encoding": encoding}, description
    )


def heat(grid: PairGrid, x_title: str, y_title: str, description: str) -> Chart:
    """How often each combination was drawn. A darker cell was drawn more often; an empty one has an orange frame."""
    most = max(int(grid.counts.max()), 1)
    rows = []
    for column, row in np.ndindex(*grid.counts.shape):
        count = int(grid.counts[column, row])
        rows.append(
            {"x": column + 0.03, "x2": column + 0.97, "y": row + 0.03, "y2": row + 0.97,
             "opacity": 0.12 + 0.88 * count / most if count else 0, "frame": None if count else ORANGE,
             "tip": f"{count:,} episodes" if count else "never drawn"}
        )  # fmt: skip
    columns, lines = grid.counts.shape
    encoding = {
        "x": quantity("x", x_title, domain=(0, columns), labels=_cell_labels(grid.first_edges)),
        "x2": {"field": "x2"},
        "y": quantity("y", y_title, domain=(0, lines), labels=_cell_labels(grid.second_edges)),
        "y2": {"field": "y2"},
        "fillOpacity": {"field": "opacity", "type": "quantitative", "scale": None},
        "stroke": {"field": "frame", "type": "nominal", "scale": None},
        "description": TOOLTIP,
    }
    mark = {"type": "rect", "fill": BLUE, "strokeWidth": 1.2}
    return Chart({"data": data(rows), "width": 440, "height": 280, "mark": mark, "encoding": encoding}, description)


def _cell_labels(edges: np.ndarray) -> dict[float, str]:
    """All cells are drawn in the same size, independent of their width in the parameter's unit."""
    cells = len(edges) - 1
    return {place: number(float(edges[place])) for place in range(0, cells + 1, max(1, cells // 5))}

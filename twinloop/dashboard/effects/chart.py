"""A chart that is a file of its own: a few lines over time, with a legend."""

from collections.abc import Mapping

import numpy as np

from twinloop.dashboard.charts.channels import data, quantity, room_around
from twinloop.dashboard.vega import BLUE, ORANGE, SOFT, Chart

MAX_POINTS = 240
COLOURS = {"low": BLUE, "nominal": SOFT, "high": ORANGE}


def chart(lines: Mapping[str, tuple[str, np.ndarray]], period_s: float, y_title: str, description: str) -> str:
    """An SVG file.

    Args:
        lines: `low`, `nominal` or `high` -> (its name in the legend, (f,) values).
    """
    rows = []
    for name, values in lines.values():
        kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).round().astype(int))
        rows += [{"x": at * period_s, "y": values[at], "name": name} for at in kept]
    every = np.concatenate([values for _, values in lines.values()])
    longest = max(len(values) for _, values in lines.values())
    names = [name for name, _ in lines.values()]
    legend = {"orient": "top", "title": None, "symbolType": "stroke", "labelColor": SOFT, "labelFontSize": 11.5}
    scale = {"domain": names, "range": [COLOURS[kind] for kind in lines]}
    dashes = {"domain": names, "range": [[4, 3] if kind == "nominal" else [1, 0] for kind in lines]}
    low, high = room_around(every, zero=bool(every.min() >= 0))
    spec = {
        "data": data(rows), "width": 440, "height": 110, "mark": {"type": "line", "strokeWidth": 1.6},
        "title": {"text": y_title, "anchor": "start", "fontSize": 12, "fontWeight": "normal", "color": SOFT},
        "encoding": {
            "x": quantity("x", "time (s)", domain=(0, longest * period_s), ticks=8),
            "y": quantity("y", domain=(low, high), ticks=3),
            "color": {"field": "name", "type": "nominal", "scale": scale, "legend": legend},
            "strokeDash": {"field": "name", "type": "nominal", "scale": dashes, "legend": legend},
        },
    }  # fmt: skip
    return Chart(spec, description).svg(standalone=True)

"""A chart of estimates with their intervals, one row a name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twinloop.dashboard.charts.channels import COLOUR, TOOLTIP, data, names, quantity
from twinloop.dashboard.vega import BLUE, SOFT, Chart

ROW_PX = 30


@dataclass(frozen=True)
class Estimate:
    """One dot with its interval.

    Attributes:
        name: the row it is in. Several estimates of one row are drawn below each other.
        text: written behind the dot, and in its tooltip with the name.
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    colour: str = BLUE


def interval_dots(
    estimates: Sequence[Estimate],
    x: Mapping[str, Any],
    description: str,
    *,
    limit: float | None = None,
    width: int = 440,
) -> Chart:
    """Dots with intervals.

    Args:
        x: a channel made by `quantity`.
        limit: a value to compare with, drawn as a dashed line.
    """
    seen: dict[str, int] = {}
    rows = []
    for estimate in estimates:
        place = seen[estimate.name] = seen.get(estimate.name, -1) + 1
        rows.append(
            {"name": estimate.name, "place": place, "value": estimate.value, "low": estimate.low,
             "high": estimate.high, "text": estimate.text, "colour": estimate.colour,
             "tip": f"{estimate.name}: {estimate.text}"}
        )  # fmt: skip
    per_row = max(seen.values(), default=0) + 1
    offset = {"yOffset": {"field": "place", "type": "nominal"}} if per_row > 1 else {}
    shared = {"color": COLOUR, "description": TOOLTIP}
    text = {"type": "text", "align": "left", "dx": 8}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "strokeWidth": 2},
         "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, **shared}},
        {"mark": {"type": "point", "size": 65}, "encoding": {"x": {**x, "field": "value"}, **shared}},
        {"mark": text, "encoding": {"x": {**x, "field": "high"}, "text": {"field": "text", "type": "nominal"}}},
    ]  # fmt: skip
    if limit is not None:
        rule = {"type": "rule", "strokeDash": [5, 4], "color": SOFT}
        across_rows = {"x": {**x, "field": "limit"}, "y": None, "yOffset": None}
        layers.append({"data": data([{"limit": limit}]), "mark": rule, "encoding": across_rows})
    spec = {
        "data": data(rows),
        "width": width,
        "height": max(len(seen), 1) * (ROW_PX if per_row == 1 else 18 * per_row),
        "encoding": {"y": names(), **offset},
        "layer": layers,
    }
    return Chart(spec, description)


def from_zero(values: Sequence[float], title: str, *, least: float = 1.0) -> dict[str, Any]:
    """A channel from 0 to the largest value, or to `least`, with room for a dot at either end."""
    high = max(least, *values)
    return quantity("value", title, domain=(min(0.0, *values) - 0.02 * high, 1.02 * high))

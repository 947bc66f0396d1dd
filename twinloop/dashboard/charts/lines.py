"""Charts over time: lines, signals of an episode between coloured phases, and the path of an object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from twinloop.dashboard.charts.channels import COLOUR, TOOLTIP, data, quantity, room_around
from twinloop.dashboard.vega import BLUE, CARD, GREEN, JOINTS, ORANGE, PHASES, SOFT, TEXT, Chart

SIGNALS = (BLUE, ORANGE, GREEN, SOFT)
HEADER_PX = 58


@dataclass(frozen=True)
class Line:
    """One line. low, high: ends of an optional band around it. dashed: drawn as a reference."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str = BLUE
    dashed: bool = False
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def lines(
    series: Sequence[Line],
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    description: str,
    *,
    rules: Sequence[tuple[float, str]] = (),
    area: bool = False,
    dots: bool = False,
    width: int = 440,
    height: int = 170,
) -> Chart:
    """Lines over one x axis.

    Args:
        x, y: channels made by `quantity`, for the fields `x` and `y`.
        rules: vertical dashed lines, each with its tooltip.
        area: fill below the lines. dots: a tooltip at every value.
    """
    rows, bands = [], []
    for place, line in enumerate(series):
        known = np.isfinite(line.y)
        shared = {"line": place, "colour": line.colour, "dash": 1 if line.dashed else 0}
        rows += [{"x": at, "y": value, **shared} for at, value in zip(line.x[known], line.y[known], strict=True)]
        if line.low is not None and line.high is not None:
            bands += [
                {"x": at, "low": low, "high": high, **shared}
                for at, low, high in zip(line.x, line.low, line.high, strict=True)
                if np.isfinite((low, high)).all()
            ]
    group = {"field": "line", "type": "nominal"}
    layers: list[dict[str, Any]] = []
    if rules:
        rule_rows = data({"x": at, "tip": tip} for at, tip in rules)
        mark = {"type": "rule", "strokeDash": [3, 3], "color": SOFT}
        layers.append({"data": rule_rows, "mark": mark, "encoding": {"x": x, "description": TOOLTIP}})
    if bands:
        encoding = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": COLOUR, "detail": group}
        layers.append({"data": data(bands), "mark": {"type": "area", "opacity": 0.14}, "encoding": encoding})
    encoding = {"x": x, "y": y, "color": COLOUR, "detail": group}
    if area:
        filled = encoding | {"y": {**y, "stack": None}}
        layers.append({"mark": {"type": "area", "opacity": 0.12}, "encoding": filled})
    dash = {"condition": {"test": "datum.dash", "value": [4, 3]}, "value": [1, 0]}
    layers.append(
        {"mark": "line", "encoding": encoding | ({"strokeDash": dash} if any(s.dashed for s in series) else {})}
    )
    if dots:
        names = [line.name for line in series]
        for row in rows:
            row["tip"] = f"{names[row['line']]}: {row['y']:.4g} at {row['x']:,.6g}"
        layers.append(
            {"mark": {"type": "point", "size": 40, "opacity": 0}, "encoding": encoding | {"description": TOOLTIP}}
        )
    return Chart({"data": data(rows), "width": width, "height": height, "layer": layers}, description)


@dataclass(frozen=True)
class Band:
    """A phase from one time to another. colour: an index into the colours of phases."""

    name: str
    colour: int
    start_s: float
    stop_s: float


def phase_bands(time_s: np.ndarray, phase: np.ndarray | None, names: Sequence[str]) -> tuple[Band, ...]:
    """The runs of equal phase. A phase that is repeated, e.g. after a failed grasp, has a band each time."""
    if phase is None or not len(phase):
        return ()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(phase)) + 1, [len(phase) - 1]])
    return tuple(
        Band(
            names[int(index)] if 0 <= index < len(names) else f"phase {index}",
            index % len(PHASES),
            float(time_s[first]),
            float(time_s[last]),
        )
        for (first, last), index in zip(pairwise(starts), phase[starts[:-1]].tolist(), strict=True)
    )


@dataclass(frozen=True)
class Panel:
    """Signals that share a y axis. joints: drawn in the colours of joints."""

    title: str
    series: Mapping[str, np.ndarray]
    joints: bool = False
    zero: bool = False
    height: int = 90

    def colours(self) -> dict[str, str]:
        """Name -> CSS colour, for a legend."""
        palette = JOINTS if self.joints else SIGNALS
        return {name: palette[place % len(palette)] for place, name in enumerate(self.series)}


def signals(time_s: np.ndarray, panels: Sequence[Panel], bands: Sequence[Band], description: str) -> Chart:
    """Panels below each other over one time axis. Phases are coloured bands, named above the first panel."""
    views = [
        _panel(time_s, panel, bands, first=place == 0, last=place == len(panels) - 1)
        for place, panel in enumerate(panels)
    ]
    return Chart({"vconcat": views, "spacing": 10}, description)


def _panel(time_s: np.ndarray, panel: Panel, bands: Sequence[Band], *, first: bool, last: bool) -> dict[str, Any]:
    x = quantity("x", "time (s)" if last else "", domain=(0, max(float(time_s[-1]), 1e-3)), ticks=6)
    if not last:
        x["axis"] |= {"labels": False}
    domain = room_around(np.concatenate(list(panel.series.values())), zero=panel.zero)
    y = quantity("y", panel.title, domain=domain, ticks=3)
    colours = panel.colours()
    rows = [
        {"x": at, "y": value, "line": name, "colour": colours[name]}
        for name, values in panel.series.items()
        for at, value in zip(time_s, values, strict=True)
    ]
    phases = data(
        {"x": band.start_s, "x2": band.stop_s, "middle": (band.start_s + band.stop_s) / 2, "name": band.name,
         "colour": PHASES[band.colour], "tip": f"{band.name}: {band.start_s:.2f} to {band.stop_s:.2f} s"}
        for band in bands
    )  # fmt: skip
    span = {"x": x, "x2": {"field": "x2"}, "color": COLOUR, "description": TOOLTIP}
    layers: list[dict[str, Any]] = []
    if bands:
        layers.append({"data": phases, "mark": {"type": "rect", "opacity": 0.13}, "encoding": span})
    if bands and first:
        header = {"y": {"value": -HEADER_PX}, "y2": {"value": 0}}
        layers.append({"data": phases, "mark": {"type": "rect", "opacity": 0.4}, "encoding": span | header})
        # A name needs 11 pixels; shorter phases keep their tooltip.
        wide = [{"x": row["middle"], "name": row["name"]} for row in phases["values"] if _pixels(row, time_s) >= 11]
        text = {"type": "text", "angle": 270, "align": "left", "fontSize": 10.5, "fill": TEXT, "limit": HEADER_PX - 6}
        encoding = {"x": x, "y": {"value": -4}, "text": {"field": "name", "type": "nominal"}}
        layers.append({"data": data(wide), "mark": text, "encoding": encoding})
    encoding = {"x": x, "y": y, "color": COLOUR, "detail": {"field": "line", "type": "nominal"}}
    layers.append({"data": data(rows), "mark": {"type": "line", "strokeWidth": 1.6}, "encoding": encoding})
    return {"width": 400, "height": panel.height, "layer": layers}


def _pixels(row: Mapping[str, Any], time_s: np.ndarray) -> float:
    return 400 * (row["x2"] - row["x"]) / max(float(time_s[-1]), 1e-3)


@dataclass(frozen=True)
class PathView:
    """A path seen from one side. spots: (x, y) of `start`, `end` and `goal`."""

    title: str
    x: np.ndarray
    y: np.ndarray
    spots: Mapping[str, tuple[float, float]]
    x_title: str
    y_title: str


def path_plot(views: Sequence[PathView], colours: np.ndarray, description: str, *, size: int = 180) -> Chart:
    """A path from several sides, each to one scale on both axes, coloured by phase."""
    return Chart({"hconcat": [_view(view, colours, size) for view in views], "spacing": 18}, description)


def _view(view: PathView, colours: np.ndarray, size: int) -> dict[str, Any]:
    spots = np.array(list(view.spots.values()))
    places = np.concatenate([np.column_stack([view.x, view.y]), spots])
    # Never so small that noise fills the picture.
    span = max(float(np.ptp(places, axis=0).max()), 0.05) * 1.15
    (x_low, x_high), (y_low, y_high) = (
        (centre - span / 2, centre + span / 2) for centre in (places.min(axis=0) + places.max(axis=0)) / 2
    )
    starts = np.concatenate([[0], np.flatnonzero(np.diff(colours)) + 1, [len(colours) - 1]])
    rows = [
        {"x": view.x[at], "y": view.y[at], "order": at, "run": run, "colour": PHASES[colours[first]]}
        for run, (first, last) in enumerate(pairwise(starts))
        for at in range(first, last + 1)
    ]
    x = quantity("x", view.x_title, domain=(x_low, x_high), ticks=3)
    y = quantity("y", view.y_title, domain=(y_low, y_high), ticks=3)
    marks = {
        "start": {"shape": "circle", "fill": CARD, "stroke": TEXT, "size": 70, "strokeWidth": 2},
        "end": {"shape": "circle", "fill": TEXT, "size": 70},
        "goal": {"shape": "cross", "fill": GREEN, "size": 150},
    }
    layers = [
        {"data": data(rows), "mark": {"type": "line", "strokeWidth": 3},
         "encoding": {"x": x, "y": y, "color": COLOUR, "order": {"field": "order"},
                      "detail": {"field": "run", "type": "nominal"}}},
        *({"data": data([{"x": place[0], "y": place[1], "tip": f"{name} ({place[0]:.3f}, {place[1]:.3f})"}]),
           "mark": {"type": "point", **marks[name]}, "encoding": {"x": x, "y": y, "description": TOOLTIP}}
          for name, place in view.spots.items()),
    ]  # fmt: skip
    title = {
        "text": view.title,
        "fontSize": 12.5,
        "fontWeight": "normal",
        "color": TEXT,
        "anchor": "start",
        "offset": 6,
    }
    return {"title": title, "width": size, "height": size, "layer": layers}

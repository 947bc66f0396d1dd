"""Charts of success rates and of the statistics that decide on them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.curate.rates import ParameterRates, Rate
from twinloop.dashboard.charts.channels import COLOUR, TOOLTIP, data, names, quantity
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.vega import BLUE, GREEN, GRID, ORANGE, SOFT, TEXT, Chart

ROW_PX = 30
DASHED = {"type": "rule", "strokeDash": [5, 4], "color": SOFT, "strokeWidth": 1.2}
_RATE_TICKS = (0, 0.25, 0.5, 0.75, 1)


def rate_text(rate: Rate) -> str:
    """`95.2 % (91.3 % to 97.4 %)`"""
    low, high = rate.interval
    return f"{percent(rate.value)} ({percent(low)} to {percent(high)})"


def rate_bars(
    rows: Sequence[tuple[str, Rate]], description: str, *, limit: float | None = None, width: int = 470
) -> Chart:
    """Success rates from 0 to 100 % with 95 % intervals.

    Args:
        limit: a required rate. It is drawn as a dashed line, and rates whose interval lies below it are orange.
    """
    values = []
    for place, (name, rate) in enumerate(rows):
        low, high = rate.interval
        count = f"{percent(rate.value)} · {rate.successes:,} of {rate.trials:,}" if rate.trials else "never reached"
        values.append(
            {"row": place, "name": name, "rate": rate.value if rate.trials else 0, "low": low, "high": high, "one": 1,
             "count": count, "colour": GREEN if limit is None or low >= limit else ORANGE,
             "tip": f"{name}: {count} (95 %: {percent(low)} to {percent(high)})"}
        )  # fmt: skip

    def x(field: str) -> dict[str, Any]:
        return quantity(field, domain=(0, 1), percent=True, ticks=_RATE_TICKS)

    layers: list[dict[str, Any]] = [
        {"mark": {"type": "bar", "color": GRID, "height": {"band": 0.6}}, "encoding": {"x": x("one")}},
        {"mark": {"type": "bar", "height": {"band": 0.6}},
         "encoding": {"x": x("rate"), "color": COLOUR, "description": TOOLTIP}},
        {"mark": {"type": "rule", "color": TEXT, "strokeWidth": 2},
         "encoding": {"x": x("low"), "x2": {"field": "high"}, "description": TOOLTIP}},
        {"mark": {"type": "text", "align": "left", "dx": 8}, "encoding": {"x": x("one"), "text": {"field": "count"}}},
    ]  # fmt: skip
    if limit is not None:
        text = {"type": "text", "color": SOFT, "baseline": "bottom", "dy": -4}
        mark = data([{"limit": limit, "text": f"required: {percent(limit)}"}])
        layers += [
            {"data": mark, "mark": DASHED, "encoding": {"y": None, "x": x("limit")}},
            {"data": mark, "mark": text,
             "encoding": {"x": x("limit"), "y": {"value": 0}, "text": {"field": "text", "type": "nominal"}}},
        ]  # fmt: skip
    y = names() | {"field": "row", "axis": names()["axis"] | {"labelExpr": "data('rows')[datum.value].name"}}
    spec = {
        "data": {**data(values), "name": "rows"},
        "width": width,
        "height": max(len(rows), 1) * ROW_PX,
        "encoding": {"y": y},
        "layer": layers,
    }
    return Chart(spec, description)


def rates_by_value(rates: ParameterRates, x_title: str, description: str, *, width: int = 340) -> Chart:
    """Success in bins of a parameter with 95 % intervals, against the overall rate. Always 0 to 100 %."""
    low, high = float(rates.edges[0, 0]), float(rates.edges[-1, 1])
    room = (high - low) * 0.03
    rows = []
    for (first, last), rate in zip(rates.edges, rates.bins, strict=True):
        bottom, top = rate.interval
        below = top < rates.overall.value and rates.fall is not None
        tip = f"{number(first)} to {number(last)}: {rate_text(rate)}, {rate.trials:,} episodes"
        rows.append(
            {"first": first, "last": last, "middle": (first + last) / 2, "rate": rate.value, "low": bottom,
             "high": top, "colour": ORANGE if below else BLUE, "tip": tip}
        )  # fmt: skip
    x_domain = (low - room, high + room)

    def x(field: str) -> dict[str, Any]:
        return quantity(field, x_title, domain=x_domain, ticks=4)

    def y(field: str) -> dict[str, Any]:
        return quantity(field, "success", domain=(-0.02, 1.02), percent=True, ticks=_RATE_TICKS)

    overall = data([{"overall": rates.overall.value, "tip": f"overall {percent(rates.overall.value)}"}])
    shared = {"color": COLOUR, "description": TOOLTIP}
    layers = [
        {"data": overall, "mark": DASHED, "encoding": {"y": y("overall"), "description": TOOLTIP}},
        {"mark": {"type": "rule", "strokeWidth": 1.6},
         "encoding": {"x": x("first"), "x2": {"field": "last"}, "y": y("rate"), **shared}},
        {"mark": {"type": "rule", "strokeWidth": 1.6},
         "encoding": {"x": x("middle"), "y": y("low"), "y2": {"field": "high"}, **shared}},
        {"mark": {"type": "point", "size": 40}, "encoding": {"x": x("middle"), "y": y("rate"), **shared}},
    ]  # fmt: skip
    return Chart({"data": data(rows), "width": width, "height": 160, "layer": layers}, description)


@dataclass(frozen=True)
class RatePair:
    """One policy's success in the twin and on the robot.

    Attributes:
        sim_interval, real_interval: 95 % intervals; None where the number of trials is not known.
        highlighted: drawn in orange.
    """

    name: str
    sim: float
    real: float
    sim_interval: tuple[float, float] | None
    real_interval: tuple[float, float] | None
    tip: str
    highlighted: bool = False


def success_scatter(
    pairs: Sequence[RatePair], description: str, *, prediction: Mapping[str, np.ndarray] | None = None
) -> Chart:
    """Success on the robot against success in the twin, with the diagonal on which both agree.

    Args:
        prediction: columns `sim`, `estimate`, `low` and `high` of a predicted line and its band.
    """
    rows = [
        {"sim": pair.sim, "real": pair.real, "colour": ORANGE if pair.highlighted else BLUE, "tip": pair.tip,
         **_ends("sim", pair.sim, pair.sim_interval), **_ends("real", pair.real, pair.real_interval)}
        for pair in pairs
    ]  # fmt: skip

    def x(field: str) -> dict[str, Any]:
        return quantity(field, "success in the twin", domain=(-0.03, 1.03), percent=True, ticks=_RATE_TICKS)

    def y(field: str) -> dict[str, Any]:
        return quantity(field, "success on the robot", domain=(-0.03, 1.03), percent=True, ticks=_RATE_TICKS)

    shared = {"color": COLOUR, "description": TOOLTIP}
    diagonal = data([{"at": 0}, {"at": 1}])
    layers: list[dict[str, Any]] = [
        {"data": diagonal, "mark": {"type": "line", "strokeDash": [5, 4], "color": SOFT, "strokeWidth": 1.2},
         "encoding": {"x": x("at"), "y": y("at")}},
    ]  # fmt: skip
    if prediction is not None:
        band = data(dict(zip(prediction, row, strict=True)) for row in zip(*prediction.values(), strict=True))
        layers += [
            {"data": band, "mark": {"type": "area", "color": BLUE, "opacity": 0.14},
             "encoding": {"x": x("sim"), "y": y("low"), "y2": {"field": "high"}}},
            {"data": band, "mark": {"type": "line", "color": BLUE},
             "encoding": {"x": x("sim"), "y": y("estimate")}},
        ]  # fmt: skip
    layers += [
        {"mark": {"type": "rule", "strokeWidth": 1.6},
         "encoding": {"x": x("sim_low"), "x2": {"field": "sim_high"}, "y": y("real"), **shared}},
        {"mark": {"type": "rule", "strokeWidth": 1.6},
         "encoding": {"x": x("sim"), "y": y("real_low"), "y2": {"field": "real_high"}, **shared}},
        {"mark": {"type": "point", "size": 60}, "encoding": {"x": x("sim"), "y": y("real"), **shared}},
    ]  # fmt: skip
    return Chart({"data": data(rows), "width": 420, "height": 290, "layer": layers}, description)


def _ends(side: str, value: float, interval: tuple[float, float] | None) -> dict[str, float]:
    low, high = interval or (value, value)
    return {f"{side}_low": low, f"{side}_high": high}


def sequential_path(better: Sequence[float], worse: Sequence[float], *, error: float, miss: float, unit: str) -> Chart:
    """Log evidence after every trial, as odds. The test ends when a line reaches its threshold.

    Args:
        better, worse: log evidence for "good enough" and for "not good enough".
        error, miss: admitted probabilities of a false acceptance and of a false rejection.
    """
    thresholds = {"good enough": (-math.log(error), BLUE), "not good enough": (-math.log(miss), ORANGE)}
    top = max(*(goal for goal, _ in thresholds.values()), *better, *worse) * 1.12
    low = max(min(0.0, *better, *worse), -0.8 * top) - 0.04 * top
    odds = {
        math.log(odd): f"{odd:g} : 1" for odd in (0.01, 0.1, 1, 10, 100, 1000, 10_000) if low <= math.log(odd) <= top
    }
    trials = max(len(better), 1)
    steps = [
        {"step": step, "evidence": float(np.clip(value, low, top)), "colour": colour}
        for values, colour in ((better, BLUE), (worse, ORANGE))
        for step, value in enumerate((0.0, *values))
    ]
    # The thresholds can be close together. The upper one is labelled above its line, the lower one below it.
    order = sorted(thresholds, key=lambda name: -thresholds[name][0])
    goals = [
        {"at": 0, "goal": goal, "colour": colour, "name": name, "tip": f"{name}: {math.exp(goal):.0f} : 1",
         "offset": -8 if name == order[0] else 9}
        for name, (goal, colour) in thresholds.items()
    ]  # fmt: skip
    x, y = (
        quantity("step", unit, domain=(0, trials), whole=True),
        quantity("evidence", "evidence", domain=(low, top), labels=odds),
    )
    label = {"type": "text", "align": "left", "dx": 6, "dy": {"expr": "datum.offset"}}
    layers = [
        {"data": data(goals), "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.6},
         "encoding": {"y": y | {"field": "goal"}, "color": COLOUR, "description": TOOLTIP}},
        {"data": data(goals), "mark": label,
         "encoding": {"x": x | {"field": "at"}, "y": y | {"field": "goal"}, "text": {"field": "name"}}},
        {"data": data(steps), "mark": "line", "encoding": {"x": x, "y": y, "color": COLOUR}},
    ]  # fmt: skip
    return Chart({"width": 440, "height": 220, "layer": layers}, "evidence after every trial")


def detector(values: Sequence[float], *, threshold: float, alarm: int | None, y_title: str, description: str) -> Chart:
    """A drift detector's statistic over episodes, its threshold, and the episode of the alarm."""
    top = max([threshold, *values]) * 1.12 or 1.0
    x = quantity("episode", "episodes since it went live", domain=(0, max(len(values), 1)), whole=True)
    y = quantity("value", y_title, domain=(0, top), ticks=4)
    goal = data([{"episode": 0, "value": threshold, "name": "alarm", "tip": f"alarm at {number(threshold)}"}])
    steps = data({"episode": place, "value": value} for place, value in enumerate(values, start=1))
    text = {"type": "text", "align": "left", "dx": 6, "dy": -8}
    layers: list[dict[str, Any]] = [
        {"data": goal, "mark": DASHED, "encoding": {"y": y, "description": TOOLTIP}},
        {"data": goal, "mark": text, "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}}},
        {"data": steps, "mark": {"type": "line", "color": BLUE}, "encoding": {"x": x, "y": y}},
    ]
    if alarm is not None:
        tip = f"alarm after {alarm} episodes"
        row = data([{"episode": alarm, "value": values[alarm - 1], "tip": tip}])
        encoding = {"x": x, "description": TOOLTIP}
        layers += [
            {"data": row, "mark": {"type": "rule", "color": ORANGE, "strokeWidth": 1.6}, "encoding": encoding},
            {"data": row, "mark": {"type": "point", "color": ORANGE, "size": 70}, "encoding": encoding | {"y": y}},
        ]
    return Chart({"width": 440, "height": 170, "layer": layers}, description)

"""Charts of evidence: rates with their intervals, a sequential test on its way, twin against robot, a detector."""

import math
from collections.abc import Sequence

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dashboard.svg import Axis, Plot, canvas, number, percent, points, px, safe, tooltip

ROW_PX = 30


def intervals(rows: Sequence[tuple[str, Rate]], told: str, *, limit: float | None, width: float = 540) -> str:
    """A dot and a whisker (95 %) for each rate, from 0 to 100 %, and a line where the limit is."""
    left, right, top, foot = 165, 130, 16, 24
    room, height = width - left - right, top + len(rows) * ROW_PX + foot
    floor = height - foot

    def at(value: float) -> str:
        return px(left + room * value)

    marks = [
        f'<path class="grid" d="{"".join(f"M{at(tick)} {top}V{px(floor)}" for tick in (0, 0.25, 0.5, 0.75, 1))}"/>',
        *(f'<text x="{at(tick)}" y="{px(floor + 15)}" text-anchor="middle">{100 * tick:.0f} %</text>'
          for tick in (0, 0.25, 0.5, 0.75, 1)),
    ]  # fmt: skip
    if limit is not None:
        marks.append(
            f'<path class="overall" d="M{at(limit)} {top - 4}V{px(floor)}">{tooltip(f"asked: {percent(limit)}")}</path>'
            f'<text x="{at(limit)}" y="{top - 6}" text-anchor="middle">asked: {percent(limit)}</text>'
        )
    for place, (name, rate) in enumerate(rows):
        middle, (low, high) = top + (place + 0.5) * ROW_PX, rate.interval
        counted = f"{percent(rate.value)} · {rate.successes:,} of {rate.trials:,}"
        said = f"{name}: {counted} (95 %: {percent(low)} to {percent(high)})"
        tone = "even" if limit is None or low >= limit else "low"
        marks.append(
            f'<text class="label" x="{left - 10}" y="{px(middle + 4)}" text-anchor="end">{safe(name[:30])}</text>'
            f'<g class="{tone}">{tooltip(said)}<path d="M{at(low)} {px(middle)}H{at(high)}M{at(low)} {px(middle - 5)}'
            f'v10M{at(high)} {px(middle - 5)}v10"/><circle cx="{at(rate.value)}" cy="{px(middle)}" r="4.5"/></g>'
            f'<text x="{px(left + room + 12)}" y="{px(middle + 4)}">{counted}</text>'
        )
    return canvas(width, height, told, *marks)


def sequential_path(
    better: Sequence[float], worse: Sequence[float], *, error: float, miss: float, unit: str, width: float = 560
) -> str:
    """The evidence after every trial, as odds: whichever line reaches its threshold first decides."""
    steps = np.arange(0, len(better) + 1, dtype=float)
    lines = {"line": [0.0, *better], "line second": [0.0, *worse]}
    goals = {"good enough": -math.log(error), "not good enough": -math.log(miss)}
    top = max(*goals.values(), *better, *worse) * 1.12
    low = min(0.0, *better, *worse)
    low = max(low, -0.8 * top) - 0.04 * top
    odds = tuple((math.log(value), f"{value:g} : 1") for value in (0.01, 0.1, 1, 10, 100, 1000, 10_000)
                 if low <= math.log(value) <= top)  # fmt: skip
    plot = Plot(
        Axis(0, max(len(better), 1), unit, whole=True), Axis(low, top, "evidence", named=odds),
        "evidence after every trial", width=width, height=280, left=70,
    )  # fmt: skip
    marks = []
    for (name, goal), tone in zip(goals.items(), ("even", "low"), strict=True):
        marks.append(
            f'<g class="{tone}"><path stroke-dasharray="5 4" d="M{px(plot.left)} {px(plot.y(goal))}'
            f'H{px(width - plot.right)}">{tooltip(f"{name}: {math.exp(goal):.0f} : 1")}</path></g>'
            f'<text x="{px(plot.left + 6)}" y="{px(plot.y(goal) - 5)}">{name}</text>'
        )
    for tone, values in lines.items():
        shown = np.clip(np.array(values), low, top)
        marks.append(f'<polyline class="{tone}" points="{points(plot.x(steps), plot.y(shown))}"/>')
    return plot.draw(*marks)


def twin_against_robot(pairs: Sequence[tuple[str, Rate, Rate, bool]], *, width: float = 560) -> str:
    """A cross for each policy: what the twin said across, what the robot showed up, whiskers for 95 %. Last of each: is
    it the one this is about?"""
    plot = Plot(
        Axis(-0.02, 1.02, "success in the twin", as_percent=True),
        Axis(-0.02, 1.02, "success on the robot", as_percent=True),
        "twin against robot", width=width, height=0.72 * width, left=60,
    )  # fmt: skip
    marks = [f'<path class="overall" d="M{px(plot.x(0))} {px(plot.y(0))}L{px(plot.x(1))} {px(plot.y(1))}"/>']
    for name, sim, real, mine in pairs:
        (left, right), (bottom, top) = sim.interval, real.interval
        x, y = px(plot.x(sim.value)), px(plot.y(real.value))
        said = f"{name}: {percent(sim.value)} in the twin, {percent(real.value)} of {real.trials:,} on the robot"
        marks.append(
            f'<g class="{"low" if mine else "even"}">{tooltip(said)}'
            f'<path d="M{px(plot.x(left))} {y}H{px(plot.x(right))}M{x} {px(plot.y(bottom))}V{px(plot.y(top))}"/>'
            f'<circle cx="{x}" cy="{y}" r="{"5" if mine else "3.5"}"/></g>'
        )
    return plot.draw(*marks)


def detector(
    values: Sequence[float], *, threshold: float, alarm: int | None, label: str, told: str, width: float = 620
) -> str:
    """A detector's statistic over episodes, its threshold, and where it was reached."""
    steps = np.arange(1, len(values) + 1, dtype=float)
    top = max([threshold, *values]) * 1.12 or 1.0
    plot = Plot(
        Axis(0, max(len(values), 1), "episodes since it went live", whole=True), Axis(0.0, top, label), told,
        width=width, height=220,
    )  # fmt: skip
    goal = px(plot.y(threshold))
    marks = [
        f'<path class="overall" d="M{px(plot.left)} {goal}H{px(width - plot.right)}">'
        f"{tooltip(f'alarm from {number(threshold)} on')}</path>",
        f'<text x="{px(plot.left + 6)}" y="{px(plot.y(threshold) - 5)}">alarm</text>',
        f'<polyline class="line" points="{points(plot.x(steps), plot.y(np.array(values, float)))}"/>',
    ]
    if alarm is not None:
        floor = plot.height - plot.bottom
        marks.append(
            f'<g class="low">{tooltip(f"alarm after {alarm} episodes")}<path d="M{px(plot.x(alarm))} {px(plot.top)}'
            f'V{px(floor)}"/><circle cx="{px(plot.x(alarm))}" cy="{px(plot.y(values[alarm - 1]))}" r="4.5"/></g>'
        )
    return plot.draw(*marks)

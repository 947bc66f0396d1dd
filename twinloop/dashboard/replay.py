"""The page of a replay: error per channel and per log (worst first), error over time, and the curves of each log."""

from pathlib import Path

import numpy as np

from twinloop.calibrate.replay import Replay, Traces
from twinloop.dashboard.charts import line
from twinloop.dashboard.page import PageSection, card, cards, legend, page, table, text, write_page
from twinloop.dashboard.svg import Axis, Plot, number, percent, points, safe

MOST_LOGS = 12
MOST_POINTS = 600


def write_replay_page(found: Replay, target: Path) -> Path:
    return write_page(target, render_replay(found))


def render_replay(found: Replay) -> str:
    sections = [_errors(found), _worst_logs(found), _over_time(found), _logs(found)]
    head = (
        f"<header><h1>{safe(found.bench.name)}</h1>"
        f'<p class="lead">the twin against {len(found.by_log):,} logs, open loop</p></header>'
    )
    return page(f"{found.bench.name} · replay", head + "".join(section.html() for section in sections))


def _errors(found: Replay) -> PageSection:
    rows = [
        (
            name, number(error.mae), number(error.rmse),
            number(found.delay_lag[name].rmse) if name in found.delay_lag else "–", number(error.worst), error.unit,
            percent(found.coverage[name]) if name in found.coverage else "–",
        )
        for name, error in found.errors.items()
    ]  # fmt: skip
    heads = ("channel", "mean error", "RMSE", "RMSE of delay + lag", "worst", "unit", "in the 90 % band")
    return PageSection("errors", "Error per channel", card("", table(heads, rows, numbers=(1, 2, 3, 4, 6))))


def _worst_logs(found: Replay) -> PageSection:
    heads = ("log", *(f"{name}, {error.unit}" for name, error in found.errors.items()))
    rows = [(log, *(number(error.rmse) for error in errors.values())) for log, errors in found.by_log.items()]
    numbers = tuple(range(1, len(heads)))
    return PageSection("worst", "RMSE per log, worst first", card("", table(heads, rows, numbers=numbers)))


def _over_time(found: Replay) -> PageSection:
    drawn = []
    for name, means in found.over_time.items():
        share = (np.arange(len(means)) + 0.5) / len(means)
        unit, up = found.errors[name].unit, np.array(means)
        known = np.isfinite(up)
        chart = line(
            share[known], up[known], Axis(0, 1, "share of the recording", as_percent=True),
            Axis.around(up, f"mean error, {unit}", zero=True), f"error of {name} over time",
        )  # fmt: skip
        drawn.append(card(name, chart))
    said = text("Mean absolute error in equal parts of the recordings: what grows with time drifts.")
    return PageSection("time", "Error over time", said + cards(drawn))


def _logs(found: Replay) -> PageSection:
    shown = found.traces[:MOST_LOGS]
    drawn = [
        card(f"{traces.log}: {name}", _chart(found, traces, name))
        for traces in shown
        for name in found.errors
    ]  # fmt: skip
    said = legend((("line", "measured"), ("line second", "the twin")))
    if len(found.traces) > len(shown):
        said += text(f"The {len(shown)} worst of {len(found.traces):,} logs are drawn.")
    return PageSection("logs", "Log by log", said + cards(drawn))


def _chart(found: Replay, traces: Traces, name: str) -> str:
    measured, simulated = traces.measured[name], traces.simulated[name]
    every = max(1, -(-len(measured) // MOST_POINTS))
    time_s, measured, simulated = traces.time_s[::every], measured[::every], simulated[::every]
    plot = Plot(
        Axis(0, max(float(traces.time_s[-1]), 1e-6), "s"),
        Axis.around(
            np.concatenate([measured, simulated]), next(c.unit for c in found.bench.measured if c.name == name)
        ),
        f"{name} of {traces.log}, measured and simulated",
    )
    marks = []
    if name in traces.low:
        low, high = traces.low[name][::every], traces.high[name][::every]
        for element in range(low.shape[1]):
            around = np.concatenate([time_s, time_s[::-1]]), np.concatenate([low[:, element], high[::-1, element]])
            around = around[0], np.clip(around[1], plot.up.low, plot.up.high)
            marks.append(f'<polygon class="area" points="{points(plot.x(around[0]), plot.y(around[1]))}"/>')
    for rows, kind in ((measured, "line"), (simulated, "line second")):
        for element in range(rows.shape[1]):
            known = np.isfinite(rows[:, element])
            shape = points(plot.x(time_s[known]), plot.y(rows[known, element]))
            marks.append(f'<polyline class="{kind}" points="{shape}"/>')
    return plot.draw(*marks)

"""The page of a replay: error per channel and per log (worst first), error over time, and the curves of each log."""

from pathlib import Path

import numpy as np

from twinloop.calibrate.replay import Replay, Traces
from twinloop.dashboard.charts import Line, lines
from twinloop.dashboard.charts.channels import quantity, room_around
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, ORANGE, Chart

MAX_LOGS = 8
MAX_POINTS = 400
MAX_ROWS = 200


def write_replay_page(replay: Replay, target: Path) -> Path:
    return write_page(target, render_replay(replay))


def render_replay(replay: Replay) -> str:
    return render_page(
        "replay.html",
        title=f"{replay.bench.name} · replay",
        heading=replay.bench.name,
        lead=f"the twin against {len(replay.by_log):,} logs, open loop",
        channels=[f"{name}, {error.unit}" for name, error in replay.errors.items()],
        errors=[
            (
                name, number(error.mae), number(error.rmse),
                number(replay.delay_lag[name].rmse) if name in replay.delay_lag else "–", number(error.worst),
                error.unit,
                percent(replay.coverage[name]) if name in replay.coverage else "–",
            )
            for name, error in replay.errors.items()
        ],
        logs=[
            (log, *(number(replay.by_log[log][name].rmse) if name in replay.by_log[log] else "–"
                    for name in replay.errors))
            for log in list(replay.by_log)[:MAX_ROWS]
        ],
        over_time=[(name, _over_time(replay, name)) for name in replay.over_time],
        traces=[
            (trace.log, [(name, _trace(replay, trace, name)) for name in replay.errors if name in trace.measured])
            for trace in replay.traces[:MAX_LOGS]
        ],
        colours={"measured": BLUE, "the twin": ORANGE},
        total=len(replay.by_log),
    )  # fmt: skip


def _over_time(replay: Replay, name: str) -> Chart:
    means = np.array(replay.over_time[name], float)
    share = (np.arange(len(means)) + 0.5) / len(means)
    x = quantity("x", "share of the recording", domain=(0, 1), percent=True)
    y = quantity("y", f"mean error ({replay.errors[name].unit})", domain=room_around(means, zero=True), ticks=3)
    return lines([Line(name, share, means)], x, y, f"error of {name} over time", width=340, height=110)


def _trace(replay: Replay, traces: Traces, name: str) -> Chart:
    step = max(1, -(-len(traces.time_s) // MAX_POINTS))
    time_s, measured, simulated = traces.time_s[::step], traces.measured[name][::step], traces.simulated[name][::step]
    unit = next(channel.unit for channel in replay.bench.measured if channel.name == name)
    domain = room_around(np.concatenate([measured, simulated]))
    series = []
    for element in range(measured.shape[1]):
        low = high = None
        if name in traces.low:
            low, high = (np.clip(ends[name][::step, element], *domain) for ends in (traces.low, traces.high))
        series.append(Line("measured", time_s, measured[:, element], BLUE))
        series.append(Line("the twin", time_s, simulated[:, element], ORANGE, low=low, high=high))
    x = quantity("x", "time (s)", domain=(0, max(float(traces.time_s[-1]), 1e-6)))
    y = quantity("y", unit, domain=domain, ticks=4)
    return lines(series, x, y, f"{name} of {traces.log}, measured and simulated", width=400, height=150)

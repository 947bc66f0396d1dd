"""How fast the run worked, session by session."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from twinloop.dashboard.charts import Line, lines
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.formatting import number
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.sessions import Session
from twinloop.dashboard.vega import Chart

MAX_POINTS = 240
MAX_ROWS = 8
COMMITS_PER_BIN = 8
"""Shards of parallel workers come in bursts. A bin holds several, so that it shows the rate."""

_TIME_UNITS = ((1.0, "s", 300.0), (60.0, "min", 18_000.0), (3600.0, "h", float("inf")))


def throughput(data: ReportData) -> dict[str, Any]:
    sessions = [session for session in data.sessions if session.timeline and session.seconds > 0]
    if not sessions:
        return {"sessions": 0}
    timed, total = sum(session.episodes for session in sessions), data.summary.accepted.trials
    rows = [
        (session.started, _duration(session.seconds), f"{session.episodes:,}", session.workers,
         number(session.trajectories_per_second))
        for session in sessions[-MAX_ROWS:]
    ]  # fmt: skip
    return {
        "sessions": len(sessions),
        "rows": rows,
        "untimed": max(total - timed, 0),
        "episodes": _cumulative(sessions),
        "speed": _speed(sessions),
    }


def _time_unit(seconds: float) -> tuple[float, str]:
    return next((size, name) for size, name, limit in _TIME_UNITS if seconds < limit)


def _duration(seconds: float) -> str:
    size, name = _time_unit(seconds)
    return f"{number(seconds / size)} {name}"


def _over_time(x: Sequence[float], y: Sequence[float], sessions: Sequence[Session], title: str, *, area: bool) -> Chart:
    size, name = _time_unit(sum(session.seconds for session in sessions))
    ends = np.cumsum([session.seconds for session in sessions])[:-1] / size
    across = quantity("x", f"working time ({name})", domain=(0, x[-1] / size * 1.01), ticks=6)
    up = quantity("y", title, domain=(0, max(y) * 1.08 or 1), whole=area, ticks=4)
    rules = [(float(end), f"session {place}") for place, end in enumerate(ends, start=2)]
    line = Line(title, np.array(x) / size, np.array(y))
    return lines([line], across, up, f"{title} over working time", rules=rules, area=area)


def _cumulative(sessions: Sequence[Session]) -> Chart:
    seconds, episodes = [0.0], [0.0]
    for session in sessions:
        since, before = seconds[-1], episodes[-1]
        # A session writes its first shard after a while and its log after its last: both ends are flat.
        seconds += [since + at for at, _ in session.timeline] + [since + session.seconds]
        episodes += [before + done for _, done in session.timeline] + [before + session.episodes]
    kept = np.unique(np.linspace(0, len(seconds) - 1, min(len(seconds), MAX_POINTS)).round().astype(int))
    # A shard counts from the moment it is on disk, so the line is a staircase.
    x, y = np.repeat(np.array(seconds)[kept], 2)[1:], np.repeat(np.array(episodes)[kept], 2)[:-1]
    return _over_time(x.tolist(), y.tolist(), sessions, "episodes", area=True)


def _speed(sessions: Sequence[Session]) -> Chart:
    x: list[float] = []
    y: list[float] = []
    since = 0.0
    for session in sessions:
        at = np.array([0.0, *(seconds for seconds, _ in session.timeline)])
        done = np.array([0.0, *(episodes for _, episodes in session.timeline)])
        bins = int(np.clip(len(session.timeline) // COMMITS_PER_BIN, 1, max(1, MAX_POINTS // 2 // len(sessions))))
        edges = np.linspace(0, at[-1] or session.seconds, bins + 1)
        rates = np.diff(np.interp(edges, at, done)) / np.diff(edges)
        for (left, right), rate in zip(pairwise(edges), rates, strict=True):
            x += [since + left, since + right]
            y += [float(rate)] * 2
        since += session.seconds
    return _over_time(x, y, sessions, "trajectories per second", area=False)

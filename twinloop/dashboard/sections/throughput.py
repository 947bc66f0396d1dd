"""How fast the run worked, session by session."""

from itertools import pairwise

import numpy as np

from twinloop.dashboard.charts import line
from twinloop.dashboard.page import PageSection, card, cards, table, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.sessions import Session
from twinloop.dashboard.svg import Axis, number

MOST_POINTS = 240
MOST_ROWS = 8
COMMITS_A_BIN = 8  # shards of parallel workers come in bursts; a bin holds several to show the rate, not them


def section(material: ReportData) -> PageSection:
    sessions = [session for session in material.sessions if session.timeline and session.seconds > 0]
    if not sessions:
        inner = text(
            "No session of this dataset was timed: it was not made by `twinloop generate`, or no run has ended yet."
        )
        return PageSection("throughput", "Throughput", inner)
    timed, total = sum(session.episodes for session in sessions), material.summary.accepted.trials
    untimed = (
        f" {total - timed:,} episodes come from sessions that were killed and left no times." if total > timed else ""
    )
    rows = [
        (session.started, _span(session.seconds), f"{session.episodes:,}", session.workers,
         number(session.trajectories_per_second))
        for session in sessions[-MOST_ROWS:]
    ]  # fmt: skip
    head = ("session began", "worked for", "episodes", "workers", "trajectories/s")
    left_out = f" The last {MOST_ROWS} of {len(sessions)} are listed." if len(sessions) > MOST_ROWS else ""
    inner = cards([_cumulative(sessions), _speed(sessions)]) + (
        '<div class="card below">'
        + table(head, rows, numbers=(2, 3, 4))
        + text(f"A session is one call of `twinloop generate`; a stopped run goes on in the next.{left_out}{untimed}")
        + "</div>"
    )
    return PageSection("throughput", "Throughput", inner)


def _unit(sessions: list[Session]) -> tuple[float, str]:
    seconds = sum(session.seconds for session in sessions)
    return next((size, name) for size, name, most in _TIMES if seconds < most)


_TIMES = ((1.0, "s", 300.0), (60.0, "min", 18_000.0), (3600.0, "h", float("inf")))


def _span(seconds: float) -> str:
    size, name = next((size, name) for size, name, most in _TIMES if seconds < most)
    return f"{number(seconds / size)} {name}"


def _breaks(sessions: list[Session], size: float) -> list[tuple[float, str]]:
    ends = np.cumsum([session.seconds for session in sessions])[:-1] / size
    return [(float(end), f"session {place}") for place, end in enumerate(ends, start=2)]


def _cumulative(sessions: list[Session]) -> str:
    size, name = _unit(sessions)
    seconds, episodes = [0.0], [0.0]
    for session in sessions:
        since, before = seconds[-1], episodes[-1]
        # A session writes its first shard after a while and its log after its last: both ends are flat.
        seconds += [since + at for at, _ in session.timeline] + [since + session.seconds]
        episodes += [before + done for _, done in session.timeline] + [before + session.episodes]
    keep = np.unique(np.linspace(0, len(seconds) - 1, min(len(seconds), MOST_POINTS)).round().astype(int))
    # A shard counts from the moment it is on the disk: level before, and a step there.
    x, y = np.repeat(np.array(seconds)[keep] / size, 2)[1:], np.repeat(np.array(episodes)[keep], 2)[:-1]
    across = Axis(0, float(x[-1]) * 1.01, f"working time ({name}), sessions back to back", about=6)
    chart = line(
        x, y, across, Axis(0, float(y[-1]) * 1.06, "episodes", whole=True, about=4), "episodes over working time",
        breaks=_breaks(sessions, size), area=True,
    )  # fmt: skip
    return card(
        "Episodes written", chart, "Every step is a shard that reached the disk. A dashed line is a new session."
    )


def _speed(sessions: list[Session]) -> str:
    size, name = _unit(sessions)
    x: list[float] = []
    y: list[float] = []
    since = 0.0
    for session in sessions:
        at = np.array([0.0, *(seconds for seconds, _ in session.timeline)])
        done = np.array([0.0, *(episodes for _, episodes in session.timeline)])
        bins = int(np.clip(len(session.timeline) // COMMITS_A_BIN, 1, max(1, MOST_POINTS // 2 // len(sessions))))
        edges = np.linspace(0, at[-1] or session.seconds, bins + 1)
        rates = np.diff(np.interp(edges, at, done)) / np.diff(edges)
        for (left, right), rate in zip(pairwise(edges), rates, strict=True):
            x += [(since + left) / size, (since + right) / size]
            y += [float(rate)] * 2
        since += session.seconds
    across = Axis(0, since / size * 1.01, f"working time ({name}), sessions back to back", about=6)
    chart = line(
        np.array(x), np.array(y), across, Axis(0, max(y) * 1.12 or 1, "trajectories per second", about=4),
        "trajectories per second over working time", breaks=_breaks(sessions, size),
    )  # fmt: skip
    return card("Speed", chart, "Averaged over several shards. A fall hints at a busy machine or a slow disk.")

"""The top of the page: what this is, its numbers, and what stands out."""

from collections.abc import Sequence

from twinloop.dashboard.page import PageSection
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number, percent, safe

MOST_TASKS = 3


def headline(material: ReportData, sections: Sequence[PageSection]) -> str:
    header, summary = material.dataset.header, material.summary
    if summary.complete:
        pill = '<span class="pill done">complete</span>'
    else:
        pill = f'<span class="pill part">unfinished: {summary.accepted.trials:,} of {summary.planned:,}</span>'
    tasks = [f"“{task}”" for task in material.attempts.tasks[:MOST_TASKS]]
    more = len(material.attempts.tasks) - len(tasks)
    tasks += [f"{more} more tasks"] if more > 0 else []
    kind = {"sim": "simulated", "real": "recorded on a robot", "mixed": "simulated and recorded"}[header.source]
    lead = " · ".join([header.robot, *tasks, f"{header.fps:g} frames per second", kind])
    links = "".join(f'<a href="#{section.anchor}">{safe(section.title)}</a>' for section in sections)
    findings = [finding for section in sections for finding in section.findings]
    listed = "".join(f"<li>{safe(finding)}</li>" for finding in findings)
    note = f'<div class="note"><b>What stands out</b><ul>{listed}</ul></div>' if findings else ""
    return (
        f'<header><h1>{safe(header.name)}{pill}</h1><p class="lead">{safe(lead)}</p></header>'
        f"<nav>{links}</nav>{_tiles(material)}{note}"
    )


def _tiles(material: ReportData) -> str:
    summary = material.summary
    low, high = summary.accepted.interval
    speed = summary.trajectories_per_second
    hours = summary.hours
    time = f"{number(hours)} h" if hours >= 1 else f"{number(60 * hours)} min"
    tried = summary.accepted.trials
    tiles = [
        (f"{tried:,}", f"{'episode' if tried == 1 else 'episodes'} attempted of {summary.planned:,} planned"),
        (
            percent(summary.accepted.value) if tried else "–",
            f"accepted: {summary.accepted.successes:,} (95 % interval {percent(low)} to {percent(high)})",
        ),
        (f"{summary.frames:,}", f"frames stored, of {summary.stored:,} episodes"),
        (time, "of robot time stored"),
        ("–" if speed is None else number(speed), "trajectories per second of work"),
        (_size(summary.size_bytes), "on disk, shards and LeRobot export"),
    ]
    inner = "".join(f'<div class="tile"><b>{safe(value)}</b><span>{safe(what)}</span></div>' for value, what in tiles)
    digest = f'<b class="mono">{safe(summary.digest[:10])}</b><span>digest, which names exactly this data</span>'
    inner += f'<div class="tile">{digest}</div>'
    return f'<div class="tiles">{inner}</div>'


def _size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{number(size_bytes)} {unit}"
        size_bytes /= 1000
    return f"{number(size_bytes)} TB"

"""The page of a quality check: one strip per episode, with its findings and their rows."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinloop.curate.quality import CHECKS, Quality, QualityFinding
from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.charts.channels import COLOUR, TOOLTIP, data, names, quantity
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, GRID, ORANGE, Chart

PAGE = "quality.html"
MAX_STRIPS = 200
MAX_ROWS = 300
ROW_PX = 22
MIN_MARK_SHARE = 0.005
"""Minimum width of a mark, as a share of the longest episode: a finding in one row must be visible."""


def write_quality_page(folder: Path, name: str, qualities: Sequence[Quality]) -> Path:
    return write_page(folder / PAGE, render_quality(name, qualities))


def render_quality(name: str, qualities: Sequence[Quality]) -> str:
    rejected = sum(bool(quality.errors) for quality in qualities)
    noted = sum(bool(quality.findings) and not quality.errors for quality in qualities)
    failed_checks = {finding.check for quality in qualities for finding in quality.findings}
    strips = sorted(qualities, key=lambda quality: (not quality.errors, not quality.findings, quality.attempt))
    findings = [(quality, finding) for quality in qualities for finding in quality.findings]
    findings.sort(key=lambda pair: (pair[1].severity != "error", pair[0].attempt))
    counts = Counter(check for quality in qualities for check in {finding.check for finding in quality.errors})
    errors = [Bar(check.name, counts[check.name], ORANGE) for check in CHECKS if counts[check.name]]
    return render_page(
        "quality.html",
        title=f"{name}: quality · twinloop",
        heading=name,
        lead=f"{len(qualities):,} episodes, {rejected:,} rejected, {noted:,} with notes",
        tiles=[
            (f"{len(qualities) - rejected:,}", "episodes without an error"),
            (percent(rejected / len(qualities) if qualities else 0.0), "rejected"),
            (f"{sum(quality.seconds for quality in qualities) / 60:.1f} min", "recorded"),
            (f"{len(failed_checks):,}", f"of {len(CHECKS)} checks found something"),
        ],
        footer="Made by twinloop. Point at a mark of a strip for the measured values.",
        strips=_strips(strips[:MAX_STRIPS]),
        episodes=len(qualities),
        drawn=min(len(strips), MAX_STRIPS),
        findings_in_total=len(findings),
        finding_rows=[_finding_row(quality, finding) for quality, finding in findings[:MAX_ROWS]],
        errors=bars(errors, "errors by check", total=len(qualities)) if errors else None,
        checks=[(check.name, check.asks) for check in CHECKS],
    )


def _finding_row(quality: Quality, finding: QualityFinding) -> tuple[object, ...]:
    return (
        quality.attempt, quality.label, finding.severity, finding.check, finding.channel or "episode",
        f"{finding.first}–{finding.last}", f"{number(finding.measured)} {finding.unit}".strip(),
        number(finding.limit), finding.message,
    )  # fmt: skip


def _strips(qualities: Sequence[Quality]) -> Chart:
    """A bar an episode, as long as the episode, with a mark on the rows of each finding."""
    longest = max((quality.rows for quality in qualities), default=0) or 1
    tracks: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for place, quality in enumerate(qualities):
        verdict = quality.verdict or ("notes" if quality.findings else "no findings")
        label = f"{quality.attempt} · {quality.label}"
        tracks.append({"row": place, "label": label, "start": 0, "length": quality.rows, "verdict": verdict})
        # Notes come first, so that errors are drawn over them.
        for finding in sorted(quality.findings, key=lambda finding: finding.severity == "error"):
            first = min(max(finding.first, 0), max(quality.rows - 1, 0))
            last = max(min(finding.last + 1, quality.rows), first + MIN_MARK_SHARE * longest)
            tip = f"{finding.check}: {finding.message} (rows {finding.first} to {finding.last})"
            colour = ORANGE if finding.severity == "error" else BLUE
            marks.append({"row": place, "start": first, "stop": last, "colour": colour, "tip": tip})
    x = quantity("start", "row of the episode", domain=(0, longest), ticks=5)
    labels = names(limit=180)["axis"] | {"labelExpr": "data('tracks')[datum.value].label"}
    y = names("row") | {"axis": labels}
    text = {"type": "text", "align": "left", "dx": 6}
    spec = {
        "data": {**data(tracks), "name": "tracks"},
        "width": 900,
        "height": max(len(qualities), 1) * ROW_PX,
        "encoding": {"y": y},
        "layer": [
            {"mark": {"type": "bar", "color": GRID, "height": {"band": 0.65}},
             "encoding": {"x": x, "x2": {"field": "length"}}},
            {"data": data(marks), "mark": {"type": "bar", "opacity": 0.8, "height": {"band": 0.55}},
             "encoding": {"x": x, "x2": {"field": "stop"}, "color": COLOUR, "description": TOOLTIP}},
            {"mark": text,
             "encoding": {"x": {**x, "field": "length"}, "text": {"field": "verdict", "type": "nominal"}}},
        ],
    }  # fmt: skip
    return Chart(spec, "one strip per episode, with marks where something is wrong")

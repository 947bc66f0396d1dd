"""The page of a quality control: an episode a strip, what is wrong with it, and where."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from twinloop.curate.quality import CHECKS, Quality, QualityFinding
from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.page import PageSection, card, page, table, text, write_page
from twinloop.dashboard.svg import canvas, number, percent, px, safe, tooltip

PAGE = "quality.html"
MOST_STRIPS = 400
MOST_ROWS = 300
ROW_PX, LEFT_PX, WIDTH_PX, RIGHT_PX = 22, 190, 940, 150
MARK_PX = 4


def write_quality_page(folder: Path, name: str, qualities: Sequence[Quality]) -> Path:
    return write_page(folder / PAGE, render_quality(name, qualities))


def render_quality(name: str, qualities: Sequence[Quality]) -> str:
    rejected = [each for each in qualities if each.errors]
    noted = [each for each in qualities if each.findings and not each.errors]
    share = len(rejected) / len(qualities) if qualities else 0.0
    lead = f"{len(qualities):,} episodes, {len(rejected):,} rejected, {len(noted):,} with notes"
    tiles = [
        (f"{len(qualities) - len(rejected):,}", "episodes without an error"),
        (percent(share), "rejected"),
        (f"{sum(each.seconds for each in qualities) / 60:.1f} min", "recorded"),
        (
            f"{len({finding.check for each in qualities for finding in each.findings}):,}",
            f"of {len(CHECKS)} checks spoke",
        ),
    ]
    inner = "".join(f'<div class="tile"><b>{safe(value)}</b><span>{safe(what)}</span></div>' for value, what in tiles)
    head = f'<header><h1>{safe(name)}</h1><p class="lead">{safe(lead)}</p></header><div class="tiles">{inner}</div>'
    sections = [_strips(qualities), _evidence(qualities), _checks(qualities)]
    foot = "<footer>Made by twinloop. Point at a mark of a strip for what was measured there.</footer>"
    return page(f"{name}: quality · twinloop", head + "".join(each.html() for each in sections) + foot)


def _strips(qualities: Sequence[Quality]) -> PageSection:
    title = "Every episode, from its first row to its last"
    shown = sorted(qualities, key=lambda each: (not each.errors, not each.findings, each.attempt))[:MOST_STRIPS]
    longest = max((each.rows for each in shown), default=0) or 1
    marks = [_strip(each, place, longest) for place, each in enumerate(shown)]
    drawn = canvas(
        WIDTH_PX, max(len(shown), 1) * ROW_PX, "a strip an episode, with marks where something is wrong", *marks
    )
    said = (
        "Orange: an error, which rejects the episode. Blue: a note. What concerns a whole episode is as long as it is."
    )
    more = (
        text(f"The first {MOST_STRIPS} of {len(qualities):,}; quality.json has all.")
        if len(qualities) > MOST_STRIPS
        else ""
    )
    return PageSection("episodes", title, card("", drawn, said) + more)


def _strip(quality: Quality, place: int, longest: int) -> str:
    top, room = place * ROW_PX, WIDTH_PX - LEFT_PX - RIGHT_PX
    length = max(quality.rows / longest * room, MARK_PX)
    label = f"{quality.attempt} · {quality.label}"
    label = label if len(label) <= 28 else f"{label[:27]}…"
    parts = [
        f'<text class="label" x="{LEFT_PX - 8}" y="{px(top + 15)}" text-anchor="end">{safe(label)}</text>',
        f'<rect class="track" x="{LEFT_PX}" y="{px(top + 4)}" width="{px(length)}" height="{ROW_PX - 8}" rx="2"/>',
    ]
    # Notes first: an error is drawn over them.
    for finding in sorted(quality.findings, key=lambda each: each.severity == "error"):
        parts.append(_mark(finding, quality.rows, top, length))
    verdict = quality.verdict or ("notes" if quality.findings else "fine")
    parts.append(f'<text x="{px(LEFT_PX + length + 6)}" y="{px(top + 15)}">{safe(verdict)}</text>')
    return "".join(parts)


def _mark(finding: QualityFinding, rows: int, top: float, length: float) -> str:
    scale = length / max(rows, 1)
    first = min(max(finding.first, 0), max(rows - 1, 0))
    last = min(max(finding.last, first), max(rows - 1, 0))
    width = max((last - first + 1) * scale, MARK_PX)
    tone = "bad" if finding.severity == "error" else "plain"
    x = min(LEFT_PX + first * scale, LEFT_PX + length - min(width, length))
    said = f"{finding.check}: {finding.said} (rows {finding.first} to {finding.last})"
    box = f'x="{px(x)}" y="{px(top + 5)}" width="{px(width)}" height="{ROW_PX - 10}" rx="1"'
    return f'<rect class="{tone}" {box} opacity="0.75">{tooltip(said)}</rect>'


def _evidence(qualities: Sequence[Quality]) -> PageSection:
    found = [(each, finding) for each in qualities for finding in each.findings]
    found.sort(key=lambda pair: (pair[1].severity != "error", pair[0].attempt))
    if not found:
        return PageSection("evidence", "What was found", text("Nothing is wrong with any episode."))
    rows = [
        (
            quality.attempt, quality.label, finding.severity, finding.check, finding.channel or "episode",
            f"{finding.first}–{finding.last}", f"{number(finding.measured)} {finding.unit}".strip(),
            number(finding.limit), finding.said,
        )
        for quality, finding in found[:MOST_ROWS]
    ]  # fmt: skip
    head = ("attempt", "source", "", "check", "channel", "rows", "measured", "limit", "what it means")
    inner = table(head, rows, numbers=(0, 6, 7))
    if len(found) > MOST_ROWS:
        inner += text(f"The first {MOST_ROWS} of {len(found):,}; quality.json has all.")
    return PageSection("evidence", "What was found", inner)


def _checks(qualities: Sequence[Quality]) -> PageSection:
    counts = Counter(check for each in qualities for check in {finding.check for finding in each.errors})
    rows = [Bar(check.name, counts[check.name], "bad" if counts[check.name] else "plain") for check in CHECKS]
    asked = table(("check", "asks"), [(check.name, check.asks) for check in CHECKS])
    drawn = card("Episodes with an error, by check", bars(rows, "errors by check", total=len(qualities)))
    return PageSection("checks", "What is asked of each", drawn + asked)

"""The page of a diagnosis: which gap, how much, on what evidence, and what nobody can explain."""

from collections.abc import Sequence
from pathlib import Path

from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.page import PageSection, card, cards, facts, page, table, text, write_page
from twinloop.dashboard.svg import canvas, number, percent, px, safe, tooltip
from twinloop.diagnose.report import Evidence, GapFinding, GapReport

ROW_PX = 26.0


def write_diagnosis_page(target: Path, report: GapReport) -> Path:
    return write_page(target, render_diagnosis(report))


def render_diagnosis(report: GapReport) -> str:
    sections = [_gaps(report), *map(_gap, report.open), _where(report), _unmodelled(report), _made(report)]
    links = "".join(f'<a href="#{each.anchor}">{safe(each.title)}</a>' for each in sections)
    who = report.subject.get("checkpoint", "")
    head = f'<header><h1>Diagnosis of {safe(who)}</h1><p class="lead">{safe(report.verdict())}</p></header>'
    return page(
        f"diagnosis of {who} · twinloop", f"{head}<nav>{links}</nav>{''.join(each.html() for each in sections)}"
    )


def _gaps(report: GapReport) -> PageSection:
    head = ("gap", "costs", "90 % interval", "probability open", "drives failures", "won by closing it", "estimates")
    rows = [
        (
            each.gap, f"{each.points:.0f}", "{:.0f} to {:.0f}".format(*each.interval), f"{each.probability:.2f}",
            f"{each.drives:.2f}", "–" if each.closing is None else f"{each.closing:+.0f}",
            _wrong_text(each) if each.found else "",
        )
        for each in report.findings
    ]  # fmt: skip
    lead = text(
        "Points of success that each gap costs, and the probability that it is open; the costliest gap comes first. "
        "The policy was simulated in the twin with each gap opened in many ways. The robot's episodes were compared "
        "with these counterfactuals."
    )
    charts = cards([
        card("Points of success it costs", _costs(report.findings), "The line is a 90 % interval."),
        card("Probability that a gap is open", _probabilities(report.findings)),
    ], "medium")  # fmt: skip
    told = []
    if report.predicted is not None:
        told.append(
            f"With the found gaps open the twin succeeds in {percent(report.predicted)}; the robot did in "
            f"{percent(report.success)}."
        )
    body = lead + charts + table(head, rows, numbers=(1, 3, 4, 5)) + "".join(map(text, told))
    return PageSection("gaps", "The eight gaps", body)


def _wrong_text(finding: GapFinding) -> str:
    parts = []
    for row in finding.rows:
        low, high = row.interval
        about = f"±{number(row.value)}" if row.spread else number(row.value)
        seen = "" if row.trained is None else " (trained on {} to {})".format(*map(number, row.trained))
        parts.append(f"{row.row} {about} {row.unit}, {number(low)} to {number(high)}{seen}")
    return "; ".join(parts)


def _probabilities(findings: Sequence[GapFinding]) -> str:
    width, left = 420.0, 100.0
    room, marks = width - left - 52, []
    for place, each in enumerate(findings):
        middle = (place + 0.5) * ROW_PX
        tone = "bad" if each.found else "plain"
        marks.append(
            f'<text class="label" x="{px(left - 8)}" y="{px(middle + 4)}" text-anchor="end">{each.gap}</text>'
            f'<rect class="{tone}" x="{px(left)}" y="{px(middle - 8)}" width="{px(max(room * each.probability, 1.5))}" '
            f'height="16" rx="2">{tooltip(f"{each.gap}: {each.probability:.3f}")}</rect>'
            f'<text x="{px(left + room * each.probability + 6)}" y="{px(middle + 4)}">{each.probability:.2f}</text>'
        )
    told = ", ".join(f"{each.gap} {each.probability:.2f}" for each in findings)
    return canvas(width, ROW_PX * len(findings), f"probability that each gap is open: {told}", *marks)


def _costs(findings: Sequence[GapFinding]) -> str:
    width, left = 420.0, 100.0
    most = max([10.0, *(each.interval[1] for each in findings)])
    scale, marks = (width - left - 40) / most, []
    for place, each in enumerate(findings):
        middle, (low, high) = (place + 0.5) * ROW_PX, each.interval
        marks.append(
            f'<text class="label" x="{px(left - 8)}" y="{px(middle + 4)}" text-anchor="end">{each.gap}</text>'
            f'<line class="axis" x1="{px(left + scale * low)}" x2="{px(left + scale * high)}" '
            f'y1="{px(middle)}" y2="{px(middle)}"/>'
            f'<circle class="{"bad" if each.found else "plain"}" cx="{px(left + scale * each.points)}" '
            f'cy="{px(middle)}" r="5">{tooltip(f"{each.gap}: {each.points:.0f} ({low:.0f} to {high:.0f})")}</circle>'
        )
    told = ", ".join(f"{each.gap} {each.points:.0f}" for each in findings)
    return canvas(width, ROW_PX * len(findings), f"points of success each gap costs: {told}", *marks)


def _gap(finding: GapFinding) -> PageSection:
    inner = text(finding.sentence() + ".")
    if finding.rows:
        head = ("parameter", "estimate", "80 % interval", "nominal", "trained on", "unit")
        rows = [
            (
                row.row, f"±{number(row.value)}" if row.spread else number(row.value),
                "{} to {}".format(*map(number, row.interval)), number(row.nominal),
                "not varied" if row.trained is None else "{} to {}".format(*map(number, row.trained)), row.unit,
            )
            for row in finding.rows
        ]  # fmt: skip
        inner += table(head, rows, numbers=(1, 3))
    inner += _evidence(finding.evidence) if finding.evidence else text("Its evidence is in how episodes ended.")
    return PageSection(f"gap-{finding.gap}", finding.gap, inner)


def _evidence(evidence: Sequence[Evidence]) -> str:
    head = ("trait", "what it is", "robot", "twin", "unit", "deviations apart")
    rows = [
        (each.trait, each.says, number(each.robot), number(each.twin), each.unit, f"{each.apart:+.1f}")
        for each in evidence
    ]
    return table(head, rows, numbers=(2, 3, 5))


def _where(report: GapReport) -> PageSection:
    failed = [Bar(str(each["phase"]), int(each["failures"]), "bad") for each in report.phases]
    named = [Bar(name, many, "bad") for name, many in report.failures.items()]
    charts = [card("The phase in which failures ended", bars(failed, "failures by phase"))]
    if named:
        charts.append(card("What went wrong", bars(named, "failures by kind")))
    inner = cards(charts, "medium")
    if report.looks:
        head = ("condition", "", "succeeded", "others", "p, exact", "p, corrected")
        rows = [
            (
                look["about"], look["kind"], _share(look["these"]), _share(look["others"]), number(look["p"]),
                number(look["corrected"]),
            )
            for look in report.looks
        ]  # fmt: skip
        inner += table(head, rows, numbers=(4, 5))
        inner += text("Fisher's exact test, corrected for all looks of this page after Holm.")
    else:
        inner += text("The log holds no condition that differs between episodes.")
    return PageSection("where", "Where it fails", inner)


def _share(rate: dict) -> str:
    low, high = rate["interval"]
    return f"{rate['successes']} of {rate['trials']} ({percent(low)} to {percent(high)})"


def _unmodelled(report: GapReport) -> PageSection:
    found = report.unmodelled
    if not found.present:
        told = "The explanation leaves nothing that would be strange by chance."
        return PageSection(
            "unmodelled", "What is left", text(f"{told} Squared deviations a trait: {found.surprise:.2f}.")
        )
    inner = text(
        f"The best explanation leaves {found.surprise:.1f} squared deviations a trait; about 1 would be chance. "
        "Something is different that the simulator does not model, and no randomization covers what it does not model."
    )
    inner += _evidence(found.strange) if found.strange else ""
    listed = "".join(f"<li><code>twinloop view {safe(log)} {attempt}</code></li>" for log, attempt in found.episodes)
    return PageSection("unmodelled", "Unmodelled", inner + text("Look at:") + f"<ul>{listed}</ul>")


def _made(report: GapReport) -> PageSection:
    subject = report.subject
    logs = [(f"runlog {log['path']}", log["digest"]) for log in subject.get("runlogs", ())]
    rest = [(name, str(value)) for name, value in subject.items() if name != "runlogs"]
    return PageSection("made", "How this was made", facts([*rest, *logs]))

"""The page of a diagnosis: which gap costs how much, on what evidence, and what remains unexplained."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.charts.intervals import Estimate, from_zero, interval_dots
from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.picture_gap import explanation_rows, gap_row, mismatch_strips
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.diagnose.report import Evidence, GapFinding, GapReport, RowEstimate

if TYPE_CHECKING:
    from twinloop.diagnose.runlog_pictures import PictureDiagnosis


def write_diagnosis_page(target: Path, report: GapReport, pictures: "Sequence[PictureDiagnosis]" = ()) -> Path:
    return write_page(target, render_diagnosis(report, pictures))


def render_diagnosis(report: GapReport, pictures: "Sequence[PictureDiagnosis]" = ()) -> str:
    checkpoint = report.subject.get("checkpoint", "")
    unmodelled = report.unmodelled
    logs = [(f"runlog {log['path']}", log["digest"]) for log in report.subject.get("runlogs", ())]
    subject = [(name, str(value)) for name, value in report.subject.items() if name != "runlogs"]
    return render_page(
        "diagnosis.html",
        title=f"diagnosis of {checkpoint} · twinloop",
        heading=f"Diagnosis of {checkpoint}",
        lead=report.verdict(),
        probabilities=_probability_chart(report.findings),
        costs=_cost_chart(report.findings),
        gap_rows=[_gap_row(finding) for finding in report.findings],
        predicted=report.predicted,
        success=report.success,
        gaps=[
            (finding, [_estimate_row(row) for row in finding.rows], _evidence_rows(finding.evidence))
            for finding in report.findings
            if finding.is_open or finding in report.harmless
        ],
        phases=bars(
            [Bar(str(row["phase"]), int(row["failures"]), ORANGE) for row in report.phases], "failures by phase"
        ),
        failures=bars([Bar(name, count, ORANGE) for name, count in report.failures.items()], "failures by kind")
        if report.failures
        else None,
        conditions=[_condition_row(row) for row in report.looks],
        unmodelled=unmodelled,
        unmodelled_evidence=_evidence_rows(unmodelled.strange),
        facts_of_subject=[*subject, *logs],
        media=("pictures",) if pictures else (),
        gaps_of_pictures=[gap_row(result.gap) for result in pictures],
        explanations=[
            (result.gap.camera, percent(result.explanation.explained), explanation_rows(result.explanation))
            for result in pictures
        ],
        mismatches=[(result.gap.camera, mismatch_strips(result.gap, ("twin", "robot"))) for result in pictures],
    )  # fmt: skip


def _gap_row(finding: GapFinding) -> tuple[str, ...]:
    return (
        finding.gap, f"{finding.points:.0f}", "{:.0f} to {:.0f}".format(*finding.interval),
        f"{finding.probability:.2f}", f"{finding.differs:.2f}",
        "–" if finding.closing is None else f"{finding.closing:+.0f}",
        "; ".join(map(_estimate_text, finding.rows)),
    )  # fmt: skip


def _estimate_text(row: RowEstimate) -> str:
    trained = "" if row.trained is None else f" (trained on {interval(*row.trained)})"
    name = f"{row.row}.{row.element}" if row.element else row.row
    return f"{name} {_value_text(row)} {row.unit}, {interval(*row.interval)}{trained}"


def _value_text(row: RowEstimate) -> str:
    return f"±{number(row.value)}" if row.spread else number(row.value)


def _estimate_row(row: RowEstimate) -> tuple[str, ...]:
    trained = "not varied" if row.trained is None else interval(*row.trained)
    return row.row, _value_text(row), interval(*row.interval), number(row.nominal), trained, row.unit


def _evidence_rows(evidence: Sequence[Evidence]) -> list[tuple[str, ...]]:
    return [
        (row.trait, row.description, number(row.robot), number(row.twin), row.unit, f"{row.apart:+.1f}")
        for row in evidence
    ]


def _probability_chart(findings: Sequence[GapFinding]) -> Chart:
    estimates = [
        Estimate(
            finding.gap, finding.probability, 0.0, finding.probability, f"{finding.probability:.2f}", _colour(finding)
        )
        for finding in findings
    ]
    x = quantity("value", "probability", domain=(-0.02, 1.02), ticks=(0, 0.5, 1))
    return interval_dots(estimates, x, "probability that each gap is open", width=380)


def _cost_chart(findings: Sequence[GapFinding]) -> Chart:
    estimates = [
        Estimate(
            finding.gap, finding.points, *finding.interval,
            "{:.0f} ({:.0f} to {:.0f})".format(finding.points, *finding.interval), _colour(finding),
        )
        for finding in findings
    ]  # fmt: skip
    ends = [end for finding in findings for end in finding.interval]
    x = from_zero(ends, "points of success", least=10.0)
    return interval_dots(estimates, x, "points of success each gap costs", width=380)


def _colour(finding: GapFinding) -> str:
    return ORANGE if finding.is_open else BLUE


def _condition_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    shares = (_share_text(row["these"]), _share_text(row["others"]))
    return row["about"], row["kind"], *shares, number(row["p"]), number(row["corrected"])


def _share_text(rate: Mapping[str, Any]) -> str:
    low, high = rate["interval"]
    return f"{rate['successes']} of {rate['trials']} ({percent(low)} to {percent(high)})"

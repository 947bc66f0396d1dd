"""A report leads with the gap that costs most; gaps that are open and harmless come after it."""

import json
from dataclasses import replace

import pytest

from twinloop.dashboard.diagnosis import render_diagnosis
from twinloop.diagnose.report import GapFinding, GapReport, RowEstimate, Unmodelled, read_report
from twinloop.randomize.parameter import GAPS, Gap

ORDER = ["contact", "latency", "sensing", "actuation"]
DELAY = RowEstimate("action_delay_ms", "ms", 41.0, (35.0, 47.0), 0.0, False, None)


def finding(gap: Gap, probability: float, points: float, interval=(0.0, 1.0), rows=(), differs=None) -> GapFinding:
    differs = probability if differs is None else differs
    return GapFinding(gap, probability, 0.5, 0.5, points, interval, rows, (), differs=differs)


@pytest.fixture
def report() -> GapReport:
    """Sensing differs most clearly and costs nothing; contact costs most."""
    known = {
        "sensing": finding("sensing", 0.1, 0.0, differs=1.0),
        "actuation": finding("actuation", 0.2, 1.4, differs=0.99),
        "contact": finding("contact", 0.8, 21.0, (12.0, 30.0)),
        "latency": finding("latency", 0.4, 6.0, (0.0, 15.0), (DELAY,)),
    }
    findings = tuple(known.get(gap, finding(gap, 0.01, 0.0)) for gap in GAPS)
    findings = tuple(sorted(findings, key=lambda one_finding: -one_finding.probability))
    return GapReport(
        subject={"checkpoint": "first"}, episodes=40, success=0.5, success_interval=(0.35, 0.65), twin_success=0.9,
        nothing=0.0, findings=findings, unmodelled=Unmodelled(0.0, (0.0, 2.0), (), (), 0.1, 0.4, 0.5, False),
        looks=(), phases=(), failures={},
    )  # fmt: skip


def test_the_gap_that_costs_most_comes_first(report: GapReport, tmp_path):
    assert [one_finding.gap for one_finding in report.findings][:4] == ORDER
    assert [one_finding["gap"] for one_finding in report.to_json()["findings"]][:4] == ORDER
    file = tmp_path / "report.json"
    file.write_text(json.dumps({**report.to_json(), "findings": report.to_json()["findings"][::-1]}))
    assert read_report(file) == report  # also one written in another order


def test_the_verdict_leads_with_cost_and_ends_with_harmless_gaps(report: GapReport):
    assert report.verdict() == (
        "50 % of 40 episodes succeeded, 90 % in the twin. "
        "Contact costs 21 points of success (12 to 30). "
        "Latency may cost 6 points of success (0 to 15; probability open 0.40): action_delay_ms is 41 (35 to 47). "
        "Different but harmless (below 2 points): sensing, actuation."
    )


def test_a_report_without_costly_gaps_names_open_ones(report: GapReport):
    harmless = replace(report, findings=tuple(replace(one_finding, points=0.0) for one_finding in report.findings))
    assert "Different but harmless (below 2 points): sensing, actuation, contact." in harmless.verdict()
    closed = replace(
        report,
        findings=tuple(
            replace(one_finding, points=0.0, probability=0.1, differs=0.1) for one_finding in report.findings
        ),
    )
    assert closed.verdict().endswith("These episodes show no open gap.")


def test_the_verdict_says_that_a_twin_models_the_robot_badly(report: GapReport):
    assert "calibrate" not in replace(report, engine_scale=1.2).verdict()
    poor = replace(report, engine_scale=2.3)
    assert "differs from the twin 2.3 times as much as other engines do" in poor.verdict()
    assert "`twinloop calibrate`" in poor.verdict()


def test_the_verdict_says_what_is_not_explained(report: GapReport):
    left = replace(report, unmodelled=replace(report.unmodelled, points=21.0, interval=(8.0, 30.0)))
    assert left.verdict().endswith("21 points are not explained.")
    named = replace(left, unmodelled=replace(left.unmodelled, present=True))
    assert named.verdict().endswith(
        "Something else differs that none of the eight gaps explains (unmodelled); it costs 21 points (8 to 30)."
    )


def test_the_page_lists_gaps_by_cost(report: GapReport):
    page = render_diagnosis(report)
    assert page.index("Points of success it costs") < page.index("Probability that a gap costs success")
    table = page[page.index("<table") :]
    places = [table.index(f">{gap}<") for gap in ORDER]
    assert places == sorted(places)
    sections = [page.index(f'id="gap-{gap}"') for gap in ("contact", "sensing", "actuation")]
    assert sections == sorted(sections)

import dataclasses
import json
from pathlib import Path

import pytest

from twinloop.diagnose.plan import make_plan, range_of
from twinloop.diagnose.report import GapFinding, GapReport, RowEstimate, Unmodelled, read_report
from twinloop.errors import CorruptError
from twinloop.randomize.parameter import GAPS, Gap
from twinloop.randomize.table import BY_NAME


def wrong(row: str, value: float, width: float, *, trained=None, spread: bool = False) -> RowEstimate:
    return RowEstimate(
        row, BY_NAME[row].unit, value, (value - width, value + width), BY_NAME[row].nominal, spread, trained
    )


def report(points: dict[Gap, float], rows: dict[Gap, tuple[RowEstimate, ...]] | None = None, looks=()) -> GapReport:
    findings = [
        GapFinding(gap, 0.95 if gap in points else 0.02, 0.9, 0.8, points.get(gap, 0.0),
                (0.5 * points.get(gap, 0.0), 1.5 * points.get(gap, 0.0)), (rows or {}).get(gap, ()), ())
        for gap in sorted(GAPS, key=lambda gap: -points.get(gap, 0.0))
    ]  # fmt: skip
    return GapReport(
        subject={}, episodes=40, success=0.5, success_interval=(0.35, 0.65), twin_success=0.95, nothing=0.0,
        findings=tuple(findings), unmodelled=Unmodelled(0.0, (0.0, 2.0), (), (), 0.1, 0.4, 0.5, False),
        looks=tuple(looks), phases=(), failures={},
    )  # fmt: skip


def test_dear_gaps_get_more_demonstrations_and_the_budget_holds():
    plan = make_plan(report({"human": 30.0, "object": 8.0}), robot="twin", budget=100)
    counts = {line.gap: line.demonstrations for line in plan.lines if line.measure == "collect"}
    assert counts["human"] > counts["object"] > 0
    assert sum(counts.values()) == plan.demonstrations <= 100
    assert sum(request["episodes"] for request in plan.requests()) == plan.demonstrations
    assert 0 < plan.real_share <= 0.5


def test_episodes_to_look_at_are_grouped_by_their_runlog():
    episodes = (("logs/a", 3), ("logs/a", 7), ("logs/b", 0))
    unmodelled = Unmodelled(20.0, (10.0, 30.0), (), episodes, 0.9, 0.01, 0.01, True)
    plan = make_plan(dataclasses.replace(report({}), unmodelled=unmodelled), robot="twin")
    (line,) = [line for line in plan.lines if line.measure == "look"]
    assert line.description.startswith("look at episodes 3, 7 of logs/a; episodes 0 of logs/b: ")


def test_lines_come_in_order_of_gain_per_hour_and_ranges_first():
    plan = make_plan(report({"latency": 20.0}, {"latency": (wrong("action_delay_ms", 80.0, 10.0),)}), robot="twin")
    gains = [line.gain_per_hour for line in plan.lines]
    assert gains == sorted(gains, reverse=True)
    assert plan.lines[0].measure == "randomize"
    assert all(line.assumed for line in plan.lines)
    assumptions = {line["measure"]: line["assumed"] for line in plan.to_json()["lines"]}
    assert "wins back 80% of the cost" in assumptions["randomize"]
    assert "80 demonstrations win back half" in assumptions["collect"]


def test_the_gain_of_randomizing_is_what_closing_the_gap_won_in_the_twin_or_a_share_of_its_cost():
    rows: dict[Gap, tuple[RowEstimate, ...]] = {"latency": (wrong("action_delay_ms", 80.0, 10.0),)}
    without = report({"latency": 20.0}, rows)
    lines = []
    for closing in (None, -3.0, 18.0):
        findings = tuple(dataclasses.replace(finding, closing=closing) for finding in without.findings)
        plan = make_plan(dataclasses.replace(without, findings=findings), robot="twin")
        lines.append(next(line for line in plan.lines if line.measure == "randomize"))
    assert [line.gain for line in lines] == pytest.approx([0.95 * 0.8 * 20.0, 0.95 * 0.8 * 20.0, 0.95 * 18.0])
    assert "won 18 points in the twin" in lines[-1].assumed


@pytest.mark.parametrize(
    ("trained", "change"),
    [(None, "new"), ((0.0, 40.0), "wider"), ((0.0, 200.0), "narrower"), ((60.0, 100.0), "unchanged")],
)
def test_a_range_is_around_the_estimate(trained, change: str):
    result = range_of(wrong("action_delay_ms", 80.0, 8.0, trained=trained))
    assert result.change == change
    assert result.low <= 80.0 <= result.high


def test_a_range_stays_plausible():
    result = range_of(wrong("command_loss_share", 0.9, 0.5))
    assert (
        BY_NAME["command_loss_share"].plausible[0]
        <= result.low
        < result.high
        <= BY_NAME["command_loss_share"].plausible[1]
    )


def test_demonstrations_are_asked_for_where_it_fails():
    look = {"about": "object", "kind": "can", "p": 0.001, "corrected": 0.01,
            "these": {"successes": 1, "trials": 10}, "others": {"successes": 28, "trials": 30}}  # fmt: skip
    plan = make_plan(report({"object": 20.0}, looks=(look,)), robot="twin")
    assert {"robot": "twin", "episodes": plan.demonstrations, "conditions": {"object": "can"}} in plan.requests()


def test_nothing_open_is_nothing_to_do():
    plan = make_plan(report({}), robot="twin")
    assert (plan.lines, plan.requests()) == ((), [])


def test_a_report_round_trips(tmp_path: Path):
    before = report({"latency": 20.0}, {"latency": (wrong("action_delay_ms", 80.0, 10.0, trained=(0.0, 40.0)),)})
    (tmp_path / "report.json").write_text(json.dumps(before.to_json()))
    assert read_report(tmp_path) == before


@pytest.mark.parametrize("text", ["[", "{}", '{"format": 2}', '{"format": 1, "findings": []}'])
def test_an_invalid_report_is_refused(tmp_path: Path, text: str):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(CorruptError, match=r"report\.json"):
        read_report(tmp_path)


def test_the_verdict_names_open_gaps():
    text = report({"latency": 20.0}, {"latency": (wrong("action_delay_ms", 80.0, 10.0),)}).verdict()
    assert "Latency costs 20 points of success (10 to 30): action_delay_ms is 80 (70 to 90)." in text
    assert "no open gap" in report({}).verdict()
    unknown = dataclasses.replace(report({}), unmodelled=Unmodelled(10.0, (4.0, 16.0), (), (), 0.9, 0.01, 0.01, True))
    assert "unmodelled" in unknown.verdict()


def test_a_loop_calibrates_only_what_motions_of_the_robot_can_tell():
    cases: tuple[tuple[Gap, str, bool], ...] = (
        ("latency", "action_delay_ms", True), ("contact", "friction_coefficient", False),
    )  # fmt: skip
    for gap, row, excites in cases:
        diagnosis = report({gap: 30.0}, {gap: (wrong(row, 0.5, 0.4),)})
        plan = make_plan(diagnosis, robot="twin")
        assert any(line.measure == "calibrate" for line in plan.lines)
        assert plan.excites is excites

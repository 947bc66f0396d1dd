"""Pages of the gate show the content of the ledger, with well-formed charts, and load nothing from elsewhere."""

import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.test_monitor import AFTER
from tests.gate.world import GOOD, POOR, World, some
from twinloop.dashboard.decision import render_decision, value_text, write_decision_page
from twinloop.dashboard.decision_text import print_decision
from twinloop.dashboard.monitor import render_monitor
from twinloop.dashboard.status import render_status
from twinloop.gate.decision import Decision
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.monitor.act import look
from twinloop.gate.registry import Registry
from twinloop.gate.rules.finding import RuleResult
from twinloop.gate.status import status_of


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A refusal, a promotion alone, and one against a live policy."""
    world = World(tmp_path_factory.mktemp("pages"))
    world.policy(1)
    world.promote(1)
    world.live(1)
    world.policy(2)
    turns = in_turns(world.digest(2), list(some(GOOD, 20)), world.digest(1), list(some(POOR, 20)))
    evaluations = (world.evaluated(2), world.evaluated(1))
    world.promote(2, evaluations=evaluations, runlogs=(runlog(world.path / "runs" / "met", turns),))
    return world


def decisions(world: World) -> list[LedgerRecord]:
    return [record for record in Registry.open(world.registry).ledger.records if "findings" in record.details]


def charts_of(page: str) -> list[str]:
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    for chart in charts:
        ElementTree.fromstring(chart)
    return charts


def test_a_decision_page_has_rules_measured_values_and_evidence(world: World):
    for record in decisions(world):
        decision = Decision.of_record(record)
        page = render_decision(decision, record)
        assert decision.sentence.replace("'", "&#39;") in page
        for finding in decision.findings:
            assert f"<b>{finding.rule}</b>" in page
        for entry in decision.evidence:
            assert str(entry["digest"]) in page
        assert record.digest in page
        assert page.count("does not hold</b>") == len(decision.failed)
        assert "default-src 'none'" in page


def test_a_promotion_shows_rates_the_test_the_twin_and_the_conditions(world: World):
    record = decisions(world)[-1]
    page = render_decision(Decision.of_record(record), record)
    assert record.transition == "canary -> production"
    assert len(charts_of(page)) == 4
    for words in ("The sequential test", "How far the twin was right", "Success by condition"):
        assert words in page
    assert "live policy on the robot" in page


def test_a_refusal_has_its_reasons_at_the_top(world: World):
    record = decisions(world)[0]
    page = render_decision(Decision.of_record(record), record)
    assert "not promoted" in page
    assert "no evaluation of this policy" in page[: page.index('id="rules"')]


def test_the_page_is_written_under_the_number_of_its_record(world: World):
    record = decisions(world)[-1]
    path = write_decision_page(world.registry, record)
    assert path == world.registry / "decisions" / f"{record.sequence:06d}.html"
    page = render_status(status_of(Registry.open(world.registry), world.rules.canary))
    assert f'href="decisions/{path.name}"' in page
    assert "p2 is live" in page
    charts_of(page)


def test_the_terminal_prints_the_same_decision(world: World):
    for record in decisions(world):
        console = Console(width=200, record=True, file=io.StringIO())
        decision = Decision.of_record(record)
        print_decision(console, decision)
        text = console.export_text()
        assert decision.sentence in " ".join(text.split())
        assert text.count("✗") == len(decision.failed)
        assert text.count("✓") == len(decision.findings) - len(decision.failed)


def test_names_from_outside_are_text(world: World):
    record = decisions(world)[-1]
    evil = replace(Decision.of_record(record), name="<script>x</script>")
    assert "<script>" not in render_decision(evil, record)


def test_a_watched_policy_has_a_chart_for_each_signal(world: World, tmp_path: Path):
    episodes = [Trial(world.digest(2), arm="")] * 12
    log = runlog(tmp_path / "work", episodes, began=AFTER)
    result = look(world.registry, (log,), world.rules, scales=None)
    page = render_monitor(result)
    assert len(charts_of(page)) == 3
    assert "The episodes agree with the rates" in page
    assert "100 % over 12 episodes" in page
    empty = replace(result, episodes=result.episodes.take(slice(0, 0)), watched=())  # type: ignore[arg-type]
    assert "No episode since it went live." in render_monitor(empty)


@pytest.mark.parametrize(
    ("value", "asks", "text"),
    [(0.95, "lower bound of success", "95 %"), (-0.05, "lower end of the difference", "−5 %"),
     (200.0, "attempts", "200"), (None, "x", "–"), (True, "x", "yes"), ("continue", "x", "not yet known"),
     (0.0, "control periods", "0")],
)  # fmt: skip
def test_numbers_are_shown_as_people_read_them(value: float | str | bool | None, asks: str, text: str):
    assert value_text(value, RuleResult("rule", asks, value, "is", True, True, "")) == text

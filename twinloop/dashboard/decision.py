"""The page of a decision: the question, the verdict, every rule with its measured value, and the evidence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinloop.curate.rates import Rate
from twinloop.dashboard.charts import RatePair, rate_bars, sequential_path, success_scatter
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.gate.decision import Decision
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import DECISIONS
from twinloop.gate.rules.finding import RuleResult

SHARES = ("success", "share", "bound", "difference", "rate", "speed")
WORDS = {"accept": "good enough", "reject": "not good enough", "continue": "not yet known"}
QUESTIONS = {
    "validated": "Is the evidence from the twin sufficient for trials of {name} on a robot?",
    "canary": "May {name} move the robot, slowly, for a limited number of episodes, with a person next to it?",
    "production": "Is the evidence from the robot sufficient for {name} to replace the live policy?",
}


def page_of(registry: Path, record: LedgerRecord) -> Path:
    """The path of a record's page."""
    return registry / DECISIONS / f"{record.sequence:06d}.html"


def write_decision_page(registry: Path, record: LedgerRecord) -> Path:
    (registry / DECISIONS).mkdir(exist_ok=True)
    return write_page(page_of(registry, record), render_decision(Decision.of_record(record), record))


def value_text(value: float | str | bool | None, result: RuleResult) -> str:
    """A measured value or a limit: shares in percent, counts as counts."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return WORDS.get(value, value)
    whole = float(value).is_integer() and abs(value) > 1
    if not whole and result.asks and any(word in result.asks for word in SHARES):
        return percent(value) if value >= 0 else f"−{percent(-value)}"
    return f"{value:,.0f}" if whole else number(value)


def limit_text(result: RuleResult) -> str:
    """`at least 95 %`"""
    limit = value_text(result.limit, result)
    return limit if result.compared == "is" else f"{result.compared} {limit}"


def render_decision(decision: Decision, record: LedgerRecord) -> str:
    verdict = "promoted" if decision.promoted else "not promoted"
    figures = decision.figures
    rates = [(row["name"], Rate(row["successes"], row["trials"])) for row in figures.get("rates", ())]
    return render_page(
        "decision.html",
        title=f"{decision.name}: {verdict} · twinloop",
        heading=f"{decision.name}: {decision.transition.replace(' -> ', ' → ')}",
        lead=QUESTIONS[decision.to].format(name=decision.name),
        pill=(verdict, "good" if decision.promoted else "bad"),
        note=decision.sentence,
        findings=[f"{result.rule}: {result.sentence}" for result in decision.failed],
        footer=(
            "Written by twinloop from the ledger of this registry. The record in the ledger is what counts; this page "
            "only shows it. Point at any mark of a chart for its numbers."
        ),
        rules=[(result, value_text(result.measured, result), limit_text(result)) for result in decision.findings],
        rates=rate_bars(rates, "success with intervals", limit=_required_success(decision)) if rates else None,
        test=_sequential_test(figures["test"]) if figures.get("test", {}).get("for") else None,
        pairs=_pairs(decision.checkpoint, figures["pairs"]) if figures.get("pairs") else None,
        conditions=_conditions(figures.get("conditions", ())),
        parameters=_parameters(figures.get("parameters", ())),
        evidence=[_evidence_row(evidence) for evidence in decision.evidence],
        provenance=[
            ("checkpoint", decision.checkpoint),
            ("decided", f"{record.time[:19].replace('T', ' ')} UTC by {record.actor}"),
            ("record", f"{record.sequence} of the ledger · {record.digest}"),
            ("record before", record.previous),
            ("rules", decision.rules),
        ],
    )


def _required_success(decision: Decision) -> float | None:
    limit = next((result.limit for result in decision.findings if result.rule == "success"), None)
    return float(limit) if isinstance(limit, (int, float)) else None


def _sequential_test(test: Mapping[str, Any]) -> dict[str, Any]:
    unit = "pairs of trials" if test["paired"] else "trials"
    claim = (
        f"the candidate loses no more than {percent(-test['null'])} against the live policy"
        if test["paired"]
        else f"the candidate succeeds more often than {percent(test['null'])}"
    )
    return {
        "chart": sequential_path(test["for"], test["against"], error=test["error"], miss=test["miss"], unit=unit),
        "legend": {"evidence for “good enough”": BLUE, "evidence for “not good enough”": ORANGE},
        "text": (
            f"Trials stop as soon as a line reaches its threshold. The blue line is the evidence that {claim}. The "
            f"probability of a false acceptance is at most {percent(test['error'])}, however often the test is looked "
            f"at. {1 / test['error']:.0f} : 1 is what a fair bet against the opposite would have earned."
        ),
    }


def rate_pair(name: str, sim: Rate, real: Rate, *, highlighted: bool) -> RatePair:
    """A point of a scatter of success in the twin and on the robot."""
    tip = f"{name}: {percent(sim.value)} in the twin, {percent(real.value)} of {real.trials:,} on the robot"
    return RatePair(name, sim.value, real.value, sim.interval, real.interval, tip, highlighted)


def _pairs(checkpoint: str, rows: list[Mapping[str, Any]]) -> Chart:
    pairs = [
        rate_pair(
            f"{row['policy'][:8]}, {row['config']} and {row['robot']}", Rate(*row["sim"]), Rate(*row["real"]),
            highlighted=row["policy"] == checkpoint,
        )
        for row in rows
    ]  # fmt: skip
    return success_scatter(pairs, "success on the robot against success in the twin")


def _conditions(rows: list[Mapping[str, Any]]) -> list[tuple[str, Chart]]:
    groups: dict[str, list[tuple[str, Rate]]] = {}
    for row in rows:
        rate = Rate(row["successes"], row["trials"])
        groups.setdefault(row["condition"], []).append((row["name"] or "not noted", rate))
    return [(name.replace("_", " "), rate_bars(rates, f"success by {name}")) for name, rates in groups.items()]


def _parameters(rows: list[Mapping[str, Any]]) -> list[tuple[str, Chart, str]]:
    charts = []
    for row in rows:
        rates = [
            (f"{number(part['from'])} to {number(part['to'])}", Rate(part["successes"], part["trials"]))
            for part in row["bins"]
        ]
        text = f"Association {row['strength']:.2f} of 1, p {number(row['p_value'])}."
        charts.append((row["parameter"], rate_bars(rates, f"success by {row['parameter']}"), text))
    return charts


def _evidence_row(evidence: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """(kind, path, text, digest)"""
    kind = str(evidence.get("kind"))
    texts = {
        "evaluation": lambda: f"{evidence.get('successes')} of {evidence.get('episodes')} in {evidence.get('config')}, "
                              f"seed {evidence.get('seed')}, of {str(evidence.get('checkpoint'))[:8]}",
        "runlog": lambda: f"{evidence.get('attempts')} episodes",
        "repeats": lambda: f"{evidence.get('repeated')} of {evidence.get('trials')} real trials repeated in "
                           f"{evidence.get('config')}, {evidence.get('successes')} succeeded there",
        "dataset": lambda: str(evidence.get("problem")) or "verified",
    }  # fmt: skip
    return kind, str(evidence.get("path", "")), texts.get(kind, str)(), str(evidence.get("digest"))

"""The page of a decision: what was asked, the verdict, every rule with its number, and what it rests on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinloop.curate.rates import Rate
from twinloop.dashboard.charts import rate_bars
from twinloop.dashboard.gate_charts import intervals, sequential_path, twin_against_robot
from twinloop.dashboard.page import PageSection, card, cards, facts, legend, page, text, write_page
from twinloop.dashboard.svg import number, percent, safe
from twinloop.gate.decision import Decision
from twinloop.gate.ledger import LedgerRecord
from twinloop.gate.registry import DECISIONS
from twinloop.gate.rules.finding import RuleResult

SHARES = ("success", "share", "bound", "difference", "rate", "speed")
WORDS = {"accept": "good enough", "reject": "not good enough", "continue": "not known yet"}
QUESTIONS = {
    "validated": "Has {name} shown in the twin that it may be tried on a robot?",
    "canary": "May {name} move the robot, slowly, for a limited number of episodes, with somebody beside it?",
    "production": "Has {name} shown on the robot that it may take the place of what is live?",
}


def page_of(registry: Path, record: LedgerRecord) -> Path:
    """Where the page of a record is."""
    return registry / DECISIONS / f"{record.sequence:06d}.html"


def write_decision_page(registry: Path, record: LedgerRecord) -> Path:
    (registry / DECISIONS).mkdir(exist_ok=True)
    return write_page(page_of(registry, record), render_decision(Decision.of_record(record), record))


def shown(value: float | str | bool | None, finding: RuleResult) -> str:
    """A number as people read it: shares in percent, counts as counts."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return WORDS.get(value, value)
    whole = float(value).is_integer() and abs(value) > 1
    if not whole and finding.asks and any(word in finding.asks for word in SHARES):
        return percent(value) if value >= 0 else f"−{percent(-value)}"
    return f"{value:,.0f}" if whole else number(value)


def render_decision(decision: Decision, record: LedgerRecord) -> str:
    sections = [
        _rules(decision),
        *_plots(decision),
        _evidence(decision),
        _provenance(decision, record),
    ]
    links = "".join(f'<a href="#{section.anchor}">{safe(section.title)}</a>' for section in sections)
    word, tone = ("promoted", "done") if decision.promoted else ("not promoted", "part")
    question = QUESTIONS[decision.to].format(name=decision.name)
    wrong = "".join(f"<li><b>{safe(each.rule)}</b>: {safe(each.said)}</li>" for each in decision.failed)
    reasons = f"<ul>{wrong}</ul>" if wrong else ""
    head = (
        f"<header><h1>{safe(decision.name)}: {safe(decision.asked.replace(' -> ', ' → '))}"
        f'<span class="pill {tone}">{word}</span></h1><p class="lead">{safe(question)}</p></header>'
        f'<nav>{links}</nav><div class="note"><b>{safe(decision.sentence)}</b>{reasons}</div>'
    )
    foot = (
        "<footer>Written by twinloop from the ledger of this registry; the record is what counts, this page only shows "
        "it. Point at any mark of a chart for its numbers.</footer>"
    )
    return page(f"{decision.name}: {word} · twinloop", head + "".join(each.html() for each in sections) + foot)


def _rules(decision: Decision) -> PageSection:
    rows = []
    for each in decision.findings:
        mark = '<b class="holds">holds</b>' if each.passed else '<b class="fails">does not hold</b>'
        limit = shown(each.limit, each)
        asked = limit if each.compared == "is" else f"{each.compared} {limit}"
        source = " ".join(f'<code title="{safe(digest)}">{safe(digest[:8])}</code>' for digest in each.evidence)
        rows.append(
            f"<tr><td><b>{safe(each.rule)}</b><br><span class='soft'>{safe(each.asks)}</span></td>"
            f'<td class="n">{safe(shown(each.measured, each))}</td><td class="n">{safe(asked)}</td><td>{mark}</td>'
            f"<td>{safe(each.said)}</td><td>{source}</td></tr>"
        )
    numbers = "<th class='n'>measured</th><th class='n'>asked</th>"
    head = f"<tr><th>rule</th>{numbers}<th></th><th>found</th><th>from</th></tr>"
    lead = text(
        "A policy moves on only if every rule holds. What could not be measured does not hold; bounds are one-sided."
    )
    inner = f'{lead}<div class="card scroll"><table class="rules">{head}{"".join(rows)}</table></div>'
    return PageSection("rules", "Rules", inner)


def _plots(decision: Decision) -> list[PageSection]:
    figures, found = decision.figures, []
    rates = [(row["name"], Rate(row["successes"], row["trials"])) for row in figures.get("rates", ())]
    charts = []
    if rates:
        limit = next((each.limit for each in decision.findings if each.rule == "success"), None)
        limit = float(limit) if isinstance(limit, (int, float)) else None
        said = "Each dot is a counted rate, its whisker the 95 % Wilson interval of the rate behind it."
        charts.append(card("Success", intervals(rates, "success with intervals", limit=limit), said))
    if figures.get("test", {}).get("for"):
        charts.append(_test(figures["test"]))
    if figures.get("pairs"):
        charts.append(_pairs(decision.checkpoint, figures["pairs"]))
    if charts:
        found.append(PageSection("plots", "What was measured", cards(charts)))
    if figures.get("conditions"):
        found.append(_conditions(figures["conditions"]))
    if figures.get("parameters"):
        found.append(_parameters(figures["parameters"]))
    return found


def _test(test: Mapping[str, Any]) -> str:
    unit = "pairs of trials" if test["paired"] else "trials"
    chart = sequential_path(test["for"], test["against"], error=test["error"], miss=test["miss"], unit=unit)
    names = legend([("line", "against “no better than asked”"), ("second", "against “as good as aimed for”")])
    what = (
        f"that the candidate loses no more than {percent(-test['null'])} against the live policy"
        if test["paired"]
        else f"that it succeeds more often than {percent(test['null'])}"
    )
    said = (
        f"Trials stop as soon as a line reaches its threshold. The first shows {what}; the chance of showing that "
        f"wrongly is at most {percent(test['error'])}, however often one looks. {1 / test['error']:.0f} : 1 is "
        "what a fair bet against the opposite would have earned."
    )
    return card("The sequential test", chart + names, said)


def _pairs(checkpoint: str, rows: list[Mapping[str, Any]]) -> str:
    pairs = [
        (f"{row['policy'][:8]}, {row['config']} and {row['robot']}", Rate(*row["sim"]), Rate(*row["real"]),
         row["policy"] == checkpoint)
        for row in rows
    ]  # fmt: skip
    said = "Policies tried on both sides; on the dashed line the twin is right. Orange: this policy."
    return card("How far the twin was right", twin_against_robot(pairs), said)


def _conditions(rows: list[Mapping[str, Any]]) -> PageSection:
    names = dict.fromkeys(row["condition"] for row in rows)
    charts = [
        card(name.replace("_", " "), rate_bars(
            [(row["name"] or "not noted", Rate(row["successes"], row["trials"]))
             for row in rows if row["condition"] == name], f"success by {name}", width=560))
        for name in names
    ]  # fmt: skip
    lead = text("Real success of the candidate under what the lab noted down, with 95 % whiskers.")
    return PageSection("conditions", "Success by condition", lead + cards(charts))


def _parameters(rows: list[Mapping[str, Any]]) -> PageSection:
    charts = [
        card(row["parameter"], rate_bars(
            [(f"{number(part['from'])} to {number(part['to'])}", Rate(part["successes"], part["trials"]))
             for part in row["bins"]], f"success by {row['parameter']}", width=560),
            f"Association {row['strength']:.2f} of 1, p {number(row['p_value'])}.")
        for row in rows
    ]  # fmt: skip
    lead = text("Success in the twin against what was drawn, the strongest associations first.")
    return PageSection("parameters", "Success by condition in the twin", lead + cards(charts))


def _evidence(decision: Decision) -> PageSection:
    rows = []
    for each in decision.evidence:
        kind, digest, path = str(each.get("kind")), str(each.get("digest")), str(each.get("path", ""))
        link = safe(path) or "not found"
        if kind == "evaluation":
            link = f'<a href="../evidence/{safe(digest)}/evaluation.json">{link}</a>'
        told = {
            "evaluation": f"{each.get('successes')} of {each.get('episodes')} in {each.get('config')}, "
                          f"seed {each.get('seed')}, of {str(each.get('checkpoint'))[:8]}",
            "runlog": f"{each.get('attempts')} episodes",
            "repeats": f"{each.get('repeated')} of {each.get('trials')} real trials repeated in {each.get('config')}, "
                       f"{each.get('successes')} succeeded there",
            "dataset": str(each.get("problem")) or "verifies",
        }.get(kind, "")  # fmt: skip
        rows.append(
            f"<tr><td>{safe(kind)}</td><td>{link}</td><td>{safe(told)}</td>"
            f'<td><code class="digest">{safe(digest)}</code></td></tr>'
        )
    if not rows:
        return PageSection("evidence", "Evidence", text("None was shown."))
    head = "<tr><th>kind</th><th>where</th><th>what</th><th>digest</th></tr>"
    lead = text(
        "Everything that was looked at, with the digest it had. Evaluations are copied into the registry; a runlog may "
        "grow, but what was shown must stay as it was."
    )
    return PageSection(
        "evidence", "Evidence", f'{lead}<div class="card scroll"><table>{head}{"".join(rows)}</table></div>'
    )


def _provenance(decision: Decision, record: LedgerRecord) -> PageSection:
    pairs = [
        ("checkpoint", decision.checkpoint),
        ("decided", f"{record.time[:19].replace('T', ' ')} UTC by {record.actor}"),
        ("record", f"{record.sequence} of the ledger · {record.digest}"),
        ("record before", record.previous),
        ("rules", decision.rules),
    ]
    return PageSection("provenance", "Provenance", f'<div class="card">{facts(pairs)}</div>')

"""The page of a registry: what is live and why, how far the others are, which twins are believed, what was decided."""

from pathlib import Path

from twinloop.dashboard.decision import page_of
from twinloop.dashboard.gate_charts import twin_against_robot
from twinloop.dashboard.page import PageSection, card, cards, page, table, text, write_page
from twinloop.dashboard.svg import safe
from twinloop.gate.registry_state import DECISION
from twinloop.gate.status import Status

REPORT = "status.html"
MOST_RECORDS = 100


def write_status_page(status: Status) -> Path:
    return write_page(status.registry.path / REPORT, render_status(status))


def render_status(status: Status) -> str:
    sections = [_policies(status), _twins(status), _ledger(status)]
    live = status.registry.live
    if status.live and live:
        made = status.made_live
        why = made.details.get("sentence", "; ".join(made.reasons)) if made else ""
        head = f"{safe(status.live.name)} is live"
        lead = f"since {live.since[:16].replace('T', ' ')} UTC, decided by {made.actor if made else '?'}"
        note = f'<div class="note"><b>{safe(why)}</b></div>'
    else:
        head, lead, note = "Nothing is live", "robots that ask are refused", ""
    body = "".join(section.html() for section in sections)
    header = f'<header><h1>{head}</h1><p class="lead">{safe(lead)}</p></header>{note}'
    foot = f"<footer>Last record of the ledger: <code>{safe(status.head)}</code>. Note it down elsewhere, and "
    foot += "<code>twinloop status --verify --head</code> tells whether the ledger was written anew.</footer>"
    return page(f"{status.registry.path.name} · twinloop", header + body + foot)


def _policies(status: Status) -> PageSection:
    rows = [
        (each.name, each.policy, each.stage, each.since[:16].replace("T", " "), each.digest[:12], each.note)
        for each in status.policies
    ]  # fmt: skip
    head = ("policy", "kind", "stage", "since (UTC)", "digest", "")
    return PageSection("policies", "Policies", table(head, rows) if rows else text("There are none."))


def _twins(status: Status) -> PageSection:
    charts = []
    for digest, trust in status.twins.items():
        pairs = [
            (f"{pair.policy[:8]} on {pair.robot}", pair.sim, pair.real, pair.policy == status.registry.production)
            for pair in trust.pairs
        ]
        why = status.demoted.get(digest, "")
        said = f"Demoted: {why}" if why else trust.sentence
        charts.append(card(f"{trust.config} ({digest[:8]})", twin_against_robot(pairs), said, called=bool(why)))
    lead = text("Each policy that was tried on both sides; on the dashed line the twin is right. Orange: what is live.")
    return PageSection("twins", "Twins", lead + cards(charts) if charts else text("No evaluation was shown yet."))


def _ledger(status: Status) -> PageSection:
    rows = []
    for record in reversed(status.registry.ledger.records[-MOST_RECORDS:]):
        target = page_of(status.registry.path, record)
        number = str(record.sequence)
        if target.is_file():
            number = f'<a href="decisions/{target.name}">{number}</a>'
        what = record.details.get("sentence") if record.kind == DECISION else None
        told = what or "; ".join(record.reasons) or str(record.details.get("name", ""))
        rows.append(
            f'<tr><td class="n">{number}</td><td class="n">{safe(record.time[:19].replace("T", " "))}</td>'
            f"<td>{safe(record.actor)}</td><td>{safe(record.kind)}</td><td>{safe(record.verdict)}</td>"
            f"<td>{safe(record.checkpoint[:12])}</td><td>{safe(told)}</td></tr>"
        )
    names = "".join(f"<th>{name}</th>" for name in ("time (UTC)", "by", "of", "verdict", "policy", ""))
    inner = f'<div class="card scroll"><table><tr><th class="n">record</th>{names}</tr>{"".join(rows)}</table></div>'
    return PageSection("ledger", "Ledger", inner)

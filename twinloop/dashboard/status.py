"""The page of a registry: the live policy and why, the stages of the others, trust in the twins, and the ledger."""

from pathlib import Path

from markupsafe import Markup

from twinloop.dashboard.charts import success_scatter
from twinloop.dashboard.decision import page_of, rate_pair
from twinloop.dashboard.page import render_page, write_page
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry_state import DECISION
from twinloop.gate.status import Status

REPORT = "status.html"
MAX_RECORDS = 100


def write_status_page(status: Status) -> Path:
    return write_page(status.registry.path / REPORT, render_status(status))


def render_status(status: Status) -> str:
    live, record = status.registry.live, status.made_live
    heading, lead, why = "No policy is live", "robots get no policy", ""
    if status.live and live:
        heading = f"{status.live.name} is live"
        lead = f"since {live.since[:16].replace('T', ' ')} UTC, decided by {record.actor if record else '?'}"
        why = record.details.get("sentence", "; ".join(record.reasons)) if record else ""
    footer = Markup(
        "Last record of the ledger: <code>{}</code>. Keep a copy of it elsewhere; then "
        "<code>twinloop status --verify --head</code> can tell whether the ledger was rewritten."
    ).format(status.head)
    return render_page(
        "status.html",
        title=f"{status.registry.path.name} · twinloop",
        heading=heading,
        lead=lead,
        note=why,
        footer=footer,
        policies=[
            (policy.name, policy.policy, policy.stage, policy.since[:16].replace("T", " "), policy.digest[:12],
             policy.note)
            for policy in status.policies
        ],
        twins=_twins(status),
        records=[
            _record_row(status.registry.path, entry)
            for entry in reversed(status.registry.ledger.records[-MAX_RECORDS:])
        ],
    )  # fmt: skip


def _twins(status: Status) -> list[tuple[object, ...]]:
    twins = []
    for digest, trust in status.twins.items():
        pairs = [
            rate_pair(
                f"{pair.policy[:8]} on {pair.robot}", pair.sim, pair.real,
                highlighted=pair.policy == status.registry.production,
            )
            for pair in trust.pairs
        ]  # fmt: skip
        demoted = status.demoted.get(digest, "")
        chart = success_scatter(pairs, "success on the robot against success in the twin") if pairs else None
        text = f"Demoted: {demoted}" if demoted else trust.sentence
        twins.append((f"{trust.config} ({digest[:8]})", chart, text, bool(demoted)))
    return twins


def _record_row(registry: Path, record: LedgerRecord) -> tuple[object, ...]:
    page = page_of(registry, record)
    sequence: object = record.sequence
    if page.is_file():
        sequence = Markup('<a href="decisions/{}">{}</a>').format(page.name, record.sequence)
    sentence = record.details.get("sentence") if record.kind == DECISION else None
    text = sentence or "; ".join(record.reasons) or str(record.details.get("name", ""))
    time = record.time[:19].replace("T", " ")
    return sequence, time, record.actor, record.kind, record.verdict, record.checkpoint[:12], text

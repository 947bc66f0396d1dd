"""Audit: every record of a ledger from the first one, in words: who decided what, when, and on which evidence."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.gate.ledger import read_ledger
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.signing import trusted_keys
from twinloop.gate.stage_limits import PERMIT
from twinloop.gate.status import problems_of


@dataclass(frozen=True)
class AuditedRecord:
    """One record in words.

    Attributes:
        signed_by: name of the key that signed it, or "".
        evidence: (kind, path, digest) of each piece of evidence.
    """

    sequence: int
    time: str
    actor: str
    signed_by: str
    what: str
    reasons: tuple[str, ...]
    evidence: tuple[tuple[str, str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "reasons": list(self.reasons), "evidence": [list(entry) for entry in self.evidence]}


@dataclass(frozen=True)
class Audit:
    """The result of an audit. problems: altered, missing or unsigned records and files; empty if all is well."""

    records: tuple[AuditedRecord, ...]
    problems: tuple[str, ...]
    keys: tuple[str, ...]
    head: str


def audit(path: Path, *, head: str = "") -> Audit:
    """Verify a registry from its first record and describe every record.

    Args:
        head: digest of a record that was noted elsewhere; "" if none was noted.
    """
    ledger = read_ledger(path)
    names = {str(record.details.get("key")): str(record.details.get("name"))
             for record in ledger.records if record.kind == "key"}  # fmt: skip
    records = tuple(_audited(record, names) for record in ledger.records)
    keys = tuple(key.name for key in trusted_keys(ledger.records).values())
    return Audit(records, problems_of(path, head=head), keys, ledger.head)


def _audited(record: LedgerRecord, names: dict[str, str]) -> AuditedRecord:
    evidence = tuple(
        (str(entry.get("kind", "")), str(entry.get("path", "")), str(entry.get("digest", "")))
        for entry in record.evidence
    )
    signer = names.get(str(record.signature.get("key")), "") if record.signature else ""
    return AuditedRecord(
        record.sequence, record.time, record.actor, signer, _in_words(record), record.reasons, evidence
    )


def _in_words(record: LedgerRecord) -> str:
    policy, details = record.checkpoint[:12], record.details
    robot = f" on {details['robot']}" if details.get("robot") else ""
    match record.kind:
        case "decision":
            limits = details.get(PERMIT)
            until = f", until {str(limits['expires'])[:10]}" if isinstance(limits, dict) else ""
            return f"{record.verdict} {policy}: {record.transition}{robot}{until}"
        case "approval":
            return f"approved {policy} for {details.get('stage')}"
        case "usage":
            return f"reserved {details.get('episodes')} episodes of {policy}{robot}"
        case "key":
            return f"key of {details.get('name')} {record.verdict}"
        case _:
            return f"{record.kind}: {record.verdict}{f' {policy}' if policy else ''}{robot}"

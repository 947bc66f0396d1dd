"""Status: the live policy with its date and evidence, the stages of the other policies, and which twins are trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.errors import TwinloopError
from twinloop.gate.evidence import show_evaluation
from twinloop.gate.ledger import read_ledger
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import Registry
from twinloop.gate.registry_state import DECISION, PROMOTED, Stage
from twinloop.gate.rules.config import CanaryRules
from twinloop.gate.store import EVIDENCE, digests_of, is_digest, pinned, pinned_evaluation
from twinloop.gate.trust import TwinTrust, twins_of


@dataclass(frozen=True)
class PolicyStatus:
    """The state of one policy.

    Attributes:
        digest: digest of the checkpoint.
        policy: kind of policy, from its card.
        since: time when it reached its stage.
        decisions: decision records about it, the latest last.
        note: its state in words.
    """

    digest: str
    name: str
    policy: str
    stage: Stage
    since: str
    decisions: tuple[LedgerRecord, ...]
    note: str


@dataclass(frozen=True)
class Status:
    """The state of a registry.

    Attributes:
        live: the live policy, if there is one.
        made_live: the decision that made it live: a promotion or a rollback.
        shown_by: the promotion that brought it to production, with the evidence.
        policies: all policies, in order of stage, production first.
        twins: twin digest -> trust in that twin.
        demoted: digest of a demoted twin -> reasons.
        history: (since, digest) of each live policy; the digest is "" if nothing was live.
        head: digest of the last record.
    """

    registry: Registry
    live: PolicyStatus | None
    made_live: LedgerRecord | None
    promoted_by: LedgerRecord | None
    policies: tuple[PolicyStatus, ...]
    twins: Mapping[str, TwinTrust]
    demoted: Mapping[str, str]
    history: tuple[tuple[str, str], ...]
    head: str

    def to_json(self) -> dict[str, Any]:
        live = self.registry.live
        decision, promotion = self.made_live, self.promoted_by
        return {
            "path": str(self.registry.path),
            "live": {
                "checkpoint": self.live.digest, "name": self.live.name, "since": live.since,
                "path": str(self.registry.path / "checkpoints" / self.live.digest), "record": live.record,
                "verdict": decision.details.get("sentence", decision.verdict) if decision else "",
                "evidence": list(promotion.evidence) if promotion else [],
            } if self.live and live else None,
            "policies": [
                {"checkpoint": policy.digest, "name": policy.name, "stage": policy.stage, "since": policy.since,
                 "note": policy.note}
                for policy in self.policies
            ],
            "twins": [
                {"twin": digest, **trust.to_json(), "demoted": self.demoted.get(digest)}
                for digest, trust in self.twins.items()
            ],
            "history": [{"since": since, "checkpoint": digest or None} for since, digest in self.history],
            "records": len(self.registry.ledger.records),
            "head": self.head,
        }  # fmt: skip


def status_of(registry: Registry, rules: CanaryRules) -> Status:
    state = registry.state
    policies = tuple(_policy(registry, digest) for digest in state.stages)
    live = next((policy for policy in policies if policy.digest == registry.production), None)
    decision = registry.record(registry.live.record) if registry.live else None
    order = {"production": 0, "canary": 1, "validated": 2, "candidate": 3}
    return Status(
        registry=registry,
        live=live,
        made_live=decision,
        promoted_by=next(
            (
                record
                for record in reversed(live.decisions if live else ())
                if record.verdict == PROMOTED and record.transition.endswith(" -> production")
            ),
            None,
        ),
        policies=tuple(sorted(policies, key=lambda policy: order[policy.stage])),
        twins=twins_of(registry, rules),
        demoted=state.demoted,
        history=tuple((record.time, record.checkpoint) for record in state.history),
        head=registry.ledger.head,
    )


def _policy(registry: Registry, digest: str) -> PolicyStatus:
    records = [record for record in registry.ledger.records if record.checkpoint == digest]
    details = next((record.details for record in records if "policy" in record.details), {})
    stage = registry.stage(digest) or "candidate"
    decided = registry.state.decided.get(digest)
    since = registry.live.since if stage == "production" and registry.live else (decided or records[0]).time
    decisions = tuple(record for record in records if record.kind == DECISION)
    return PolicyStatus(
        digest, str(details.get("name", digest[:12])), str(details.get("policy", "")), stage, since, decisions,
        _note(registry, digest, decisions),
    )  # fmt: skip


def _note(registry: Registry, digest: str, decisions: tuple[LedgerRecord, ...]) -> str:
    state = registry.state
    last = str(decisions[-1].details.get("sentence", "; ".join(decisions[-1].reasons))) if decisions else ""
    if digest == registry.production:
        return last
    left = state.left.get(digest)
    if left and not (decisions and decisions[-1].time > left):
        return f"rolled back on {left[:16].replace('T', ' ')}"
    was = [place for place, record in enumerate(state.history) if record.checkpoint == digest]
    if was and was[-1] + 1 < len(state.history):
        return f"was live until {state.history[was[-1] + 1].time[:16].replace('T', ' ')}"
    return last or "not decided yet"


def problems_of(registry_path: Path, *, head: str = "") -> tuple[str, ...]:
    """Return a message for each altered or missing file and record in a registry.

    Args:
        head: digest of the last record, as noted elsewhere; "" if none was noted.
    """
    ledger = read_ledger(registry_path)
    problems = list(ledger.problems)
    if head and head not in {record.digest for record in ledger.records}:
        problems.append(f"record {head[:12]}...: is not in the ledger, but was noted as its last record")
    if not problems:
        try:
            Registry.open(registry_path)
        except TwinloopError as error:
            problems.append(str(error))
    for digest in digests_of(registry_path):
        try:
            pinned(registry_path, digest)
        except TwinloopError as error:
            problems.append(str(error))
    folder = registry_path / EVIDENCE
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            if not is_digest(path.name):
                raise TwinloopError(f"{path}: is not evidence of this registry")
            show_evaluation(pinned_evaluation(registry_path, path.name))
        except TwinloopError as error:
            problems.append(str(error))
    named = {record.checkpoint for record in ledger.records if record.checkpoint}
    problems += [f"checkpoints/{digest}: is missing" for digest in sorted(named - set(digests_of(registry_path)))]
    return tuple(problems)

"""RegistryState: checkpoint stages, live periods and demoted twins, computed from a ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from twinloop.errors import UsageError, nearest
from twinloop.gate.ledger import LedgerRecord

Stage = Literal["candidate", "validated", "canary", "production"]
STAGES: tuple[Stage, ...] = get_args(Stage)

PROMOTED, REFUSED, ROLLED_BACK, WITHDRAWN = "promoted", "refused", "rolled back", "withdrawn"
LIVE, NOTHING_LIVE, PINNED = "live", "nothing live", "pinned"
DEMOTED, RESTORED, OPENED = "demoted", "restored", "opened"
DECISION, POINTER, TWIN, INCIDENT, CHECKPOINT = "decision", "pointer", "twin", "incident", "checkpoint"


@dataclass(frozen=True)
class RegistryState:
    """The state of a registry.

    Attributes:
        stages: checkpoint -> its stage, at most canary; only the pointer puts one in production.
        decided: checkpoint -> the record of the decision for its stage.
        history: records of the live policies, in order.
        stack: checkpoints that were promoted to production and not rolled back; the live one is last.
        left: checkpoint -> time of its last rollback. It is at stage validated again, and earlier real episodes no
            longer count.
        evidence: checkpoint -> all evidence that was ever given for it.
        demoted: twin (config digest) -> reason.
    """

    stages: Mapping[str, Stage] = field(default_factory=dict)
    decided: Mapping[str, LedgerRecord] = field(default_factory=dict)
    history: tuple[LedgerRecord, ...] = ()
    stack: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    demoted: Mapping[str, str] = field(default_factory=dict)

    @property
    def previous(self) -> str:
        """The checkpoint that a rollback makes live; "" if there is none."""
        return self.stack[-2] if len(self.stack) > 1 else ""


def state_of(records: Iterable[LedgerRecord]) -> RegistryState:
    stages: dict[str, Stage] = {}
    decided: dict[str, LedgerRecord] = {}
    evidence: dict[str, tuple[Mapping[str, Any], ...]] = {}
    demoted: dict[str, str] = {}
    left: dict[str, str] = {}
    history: list[LedgerRecord] = []
    stack: list[str] = []
    for record in records:
        if record.kind == CHECKPOINT:
            stages.setdefault(record.checkpoint, "candidate")
        if record.kind == DECISION:
            # The evidence of a rollback concerns the policy that is rolled back, not the one that becomes live.
            about = stack[-1] if stack and record.verdict in (ROLLED_BACK, WITHDRAWN) else record.checkpoint
            evidence[about] = _joined(evidence.get(about, ()), record.evidence)
            reached = record.transition.rpartition(" -> ")[2]
            if record.verdict == PROMOTED and reached in ("validated", "canary"):
                stages[record.checkpoint], decided[record.checkpoint] = reached, record
        elif record.kind == POINTER:
            history.append(record)
            if stack and record.details.get("verdict") in (ROLLED_BACK, WITHDRAWN):
                stages[stack[-1]], left[stack[-1]] = "validated", record.time
            if record.verdict == LIVE and record.checkpoint in stack:
                del stack[stack.index(record.checkpoint) + 1 :]
            elif record.verdict == LIVE:
                stack.append(record.checkpoint)
            else:
                stack.clear()
        elif record.kind == TWIN:
            if record.verdict == DEMOTED:
                demoted[str(record.details["twin"])] = "; ".join(record.reasons)
            else:
                demoted.pop(str(record.details["twin"]), None)
    return RegistryState(stages, decided, tuple(history), tuple(stack), left, evidence, demoted)


def _joined(known: tuple[Mapping[str, Any], ...], more: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    return (*known, *(entry for entry in more if entry not in known))


def stage_named(name: str) -> Stage:
    for stage in STAGES:
        if stage == name:
            return stage
    raise UsageError(f"stage {name!r} is unknown; {nearest(name, STAGES)}")


def next_stage(stage: Stage) -> Stage | None:
    place = STAGES.index(stage) + 1
    return STAGES[place] if place < len(STAGES) else None

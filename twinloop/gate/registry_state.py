"""RegistryState: the state a ledger adds up to: checkpoint stages, live periods, demoted twins."""

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
    """stages: checkpoint -> how far it has come, at most canary here: only the pointer makes one production.
    decided: checkpoint -> the record that brought it to its stage. history: records of what was live, in order.
    stack: checkpoints that were promoted to production and not rolled back from, the live one last.
    left: checkpoint -> when it was last rolled back from: it begins again at validated, and what the robot showed
        before says nothing for it any more.
    shown: checkpoint -> all evidence that was ever shown for it. demoted: twin (config digest) -> why.
    """

    stages: Mapping[str, Stage] = field(default_factory=dict)
    decided: Mapping[str, LedgerRecord] = field(default_factory=dict)
    history: tuple[LedgerRecord, ...] = ()
    stack: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    demoted: Mapping[str, str] = field(default_factory=dict)

    @property
    def previous(self) -> str:
        """What a rollback returns to; "" if there is nothing."""
        return self.stack[-2] if len(self.stack) > 1 else ""


def standing_of(records: Iterable[LedgerRecord]) -> RegistryState:
    stages: dict[str, Stage] = {}
    decided: dict[str, LedgerRecord] = {}
    shown: dict[str, tuple[Mapping[str, Any], ...]] = {}
    demoted: dict[str, str] = {}
    left: dict[str, str] = {}
    history: list[LedgerRecord] = []
    stack: list[str] = []
    for record in records:
        if record.kind == CHECKPOINT:
            stages.setdefault(record.checkpoint, "candidate")
        if record.kind == DECISION:
            # What a policy is left for speaks of that policy, not of the one that is returned to.
            about = stack[-1] if stack and record.verdict in (ROLLED_BACK, WITHDRAWN) else record.checkpoint
            shown[about] = _joined(shown.get(about, ()), record.evidence)
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
    return RegistryState(stages, decided, tuple(history), tuple(stack), left, shown, demoted)


def _joined(known: tuple[Mapping[str, Any], ...], more: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    return (*known, *(each for each in more if each not in known))


def stage_named(name: str) -> Stage:
    for stage in STAGES:
        if stage == name:
            return stage
    raise UsageError(f"stage {name!r} is unknown; {nearest(name, STAGES)}")


def next_stage(stage: Stage) -> Stage | None:
    place = STAGES.index(stage) + 1
    return STAGES[place] if place < len(STAGES) else None

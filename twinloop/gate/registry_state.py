"""RegistryState: checkpoint stages, live periods and demoted twins, computed from a ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from twinloop.errors import UsageError, nearest
from twinloop.gate.ledger_record import LedgerRecord

Stage = Literal["candidate", "validated", "canary", "production"]
STAGES: tuple[Stage, ...] = get_args(Stage)

PROMOTED, REFUSED, ROLLED_BACK, WITHDRAWN = "promoted", "refused", "rolled back", "withdrawn"
LIVE, NOTHING_LIVE, PINNED = "live", "nothing live", "pinned"
DEMOTED, RESTORED, OPENED = "demoted", "restored", "opened"
DECISION, POINTER, TWIN, INCIDENT, CHECKPOINT = "decision", "pointer", "twin", "incident", "checkpoint"
REGISTRY, CREATED = "registry", "created"
APPROVAL, APPROVED = "approval", "approved"
USAGE, RESERVED = "usage", "reserved"
ROLLOUT, STARTED, WAVE_OPENED, WAVE_PASSED = "rollout", "started", "wave opened", "wave passed"
STOPPED, FINISHED = "stopped", "finished"


@dataclass(frozen=True)
class FleetEntry:
    """The policy that is live on one robot, where it differs from the rest of the fleet.

    Attributes:
        checkpoint: digest; "" if nothing is live on this robot.
        decision: digest of the record whose limits hold.
        stage: canary while the robot's wave of a roll-out is on trial.
    """

    checkpoint: str
    decision: str
    stage: Literal["canary", "production"]


@dataclass(frozen=True)
class Rollout:
    """The roll-out that is under way.

    Attributes:
        record: digest of the record that started it.
        waves: robot ids, wave by wave.
        wave: number of the wave that is on trial, or that comes next.
        opened: digest of the record that opened this wave; "" if it is not open yet.
        before: robot id -> what was live there when the roll-out began; None: what the fleet has.
    """

    checkpoint: str
    record: str
    waves: tuple[tuple[str, ...], ...]
    wave: int
    opened: str
    before: Mapping[str, "FleetEntry | None"]


@dataclass(frozen=True)
class Approval:
    """A person's approval of one step of one checkpoint."""

    person: str
    time: str
    record: str


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
        approvals: (checkpoint, stage) -> approvals since the checkpoint's last rollback, one per person.
        fleet: robot id -> what is live there, for robots that differ from the rest of the fleet.
        rollout: the roll-out that is under way, if there is one.
    """

    stages: Mapping[str, Stage] = field(default_factory=dict)
    decided: Mapping[str, LedgerRecord] = field(default_factory=dict)
    history: tuple[LedgerRecord, ...] = ()
    stack: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    demoted: Mapping[str, str] = field(default_factory=dict)
    approvals: Mapping[tuple[str, str], tuple[Approval, ...]] = field(default_factory=dict)
    fleet: Mapping[str, FleetEntry] = field(default_factory=dict)
    rollout: Rollout | None = None

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
    approvals: dict[tuple[str, str], tuple[Approval, ...]] = {}
    fleet = _Fleet()
    for record in records:
        fleet.follow(record)
        if record.kind == CHECKPOINT:
            stages.setdefault(record.checkpoint, "candidate")
        if record.kind == APPROVAL:
            step = (record.checkpoint, str(record.details["stage"]))
            others = tuple(approval for approval in approvals.get(step, ()) if approval.person != record.actor)
            approvals[step] = (*others, Approval(record.actor, record.time, record.digest))
        if record.kind == DECISION and not record.details.get("robot"):
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
                approvals = {step: given for step, given in approvals.items() if step[0] != stack[-1]}
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
    return RegistryState(
        stages, decided, tuple(history), tuple(stack), left, evidence, demoted, approvals, fleet.entries, fleet.rollout
    )


class _Fleet:
    """Follows the records about single robots: roll-outs in waves, and rollbacks of one robot."""

    def __init__(self) -> None:
        self.entries: dict[str, FleetEntry] = {}
        self.rollout: Rollout | None = None

    def follow(self, record: LedgerRecord) -> None:
        robot = str(record.details.get("robot", ""))
        if record.kind == DECISION and robot and record.verdict in (ROLLED_BACK, WITHDRAWN):
            self.entries[robot] = FleetEntry(
                record.checkpoint if record.verdict == ROLLED_BACK else "", str(record.details.get("decision", "")),
                "production",
            )  # fmt: skip
        if record.kind == ROLLOUT:
            self._follow_rollout(record)

    def _follow_rollout(self, record: LedgerRecord) -> None:
        if record.verdict == STARTED:
            waves = tuple(tuple(map(str, wave)) for wave in record.details["waves"])
            before = {robot: self.entries.get(robot) for wave in waves for robot in wave}
            self.rollout = Rollout(record.checkpoint, record.digest, waves, 0, "", before)
            return
        rollout = self.rollout
        if rollout is None:
            return
        wave = rollout.waves[rollout.wave] if rollout.wave < len(rollout.waves) else ()
        if record.verdict == WAVE_OPENED:
            self.rollout = replace(rollout, opened=record.digest)
            self._set(wave, FleetEntry(rollout.checkpoint, record.digest, "canary"))
        elif record.verdict == WAVE_PASSED:
            self.rollout = replace(rollout, wave=rollout.wave + 1, opened="")
            self._set(wave, FleetEntry(rollout.checkpoint, record.digest, "production"))
        elif record.verdict == STOPPED:
            for robot, entry in rollout.before.items():
                self.entries.pop(robot, None)
                if entry is not None:
                    self.entries[robot] = entry
            self.rollout = None
        elif record.verdict == FINISHED:
            self.rollout = None

    def _set(self, robots: Iterable[str], entry: FleetEntry) -> None:
        self.entries |= dict.fromkeys(robots, entry)


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

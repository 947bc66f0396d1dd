"""Permit: what a decision of the gate allows one policy to do on one robot.

A session asks for its permits itself, from the registry, when it starts. There is no other way onto hardware: a
checkpoint without a decision gets the permit `ungated`, which only simulated robots accept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from twinloop.errors import RegistryError, UsageError
from twinloop.gate.known_registries import refuse_copy
from twinloop.gate.ledger import LEDGER
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import DECISION, PROMOTED, USAGE, Stage
from twinloop.gate.robot_identity import RobotIdentity
from twinloop.gate.stage_limits import PERMIT, StageLimits
from twinloop.gate.store import Pinned, is_prefix, look_at, named

CLOCK_TOLERANCE = timedelta(minutes=2)
DEPLOYABLE = ("production", "canary")
ANY_ROBOT = RobotIdentity("any robot", "", "", "", "", simulated=True)


@dataclass(frozen=True)
class RegistryEntry:
    """A policy by its name in a registry: `production`, `canary`, or the first digits of a checkpoint's digest."""

    registry: Path
    name: str


@dataclass(frozen=True)
class Permit:
    """Limits of one policy on one robot.

    Attributes:
        checkpoint: digest; path: the folder that was verified.
        stage: `ungated` without a decision.
        decision, registry: digests of the decision and of the registry's first record; "" without a decision.
        limits: None without a decision: then the robot's own limits hold.
        left: episodes that the decision still allows.
    """

    checkpoint: str
    path: Path
    stage: Literal["production", "canary", "ungated"]
    decision: str = ""
    registry: str = ""
    limits: StageLimits | None = None
    left: int | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns of an episode that say what allowed it."""
        return {"gate/stage": self.stage, "gate/decision": self.decision, "gate/registry": self.registry}

    def refuse_expired(self, now: datetime) -> None:
        if self.limits is not None and datetime.fromisoformat(self.limits.expires) <= now:
            raise RegistryError(
                f"the decision {self.decision[:12]} for {self.checkpoint[:12]} expired on {self.limits.expires[:10]}; "
                "`twinloop promote` decides again from new evidence"
            )


def ungated(path: Path, robot: RobotIdentity) -> Permit:
    """The permit of a checkpoint, or an exported file, that is named by its path. Only simulated robots accept it."""
    if not robot.simulated:
        raise RegistryError(
            f"{path}: {robot.id} is hardware, and only a decision of the gate lets a policy act there. Name an entry "
            "of the registry (production, canary, or a digest); `twinloop promote` brings a policy into canary"
        )
    return Permit(look_at(path).digest if path.is_dir() else "", path, "ungated")


def permit_for(
    entry: RegistryEntry, robot: RobotIdentity, *, twin: str = "", episodes: int = 1, now: datetime | None = None
) -> Permit:
    """Check everything that a decision depends on, and return what it allows.

    Args:
        robot: as it described itself a moment ago.
        twin: digest of the config of this robot's twin, if the robot names one.
        episodes: number of episodes to be run.

    Raises:
        RegistryError: the policy may not act on this robot; the message says why, and what would allow it.
    """
    moment = now or datetime.now(UTC)
    registry = _open(entry)
    if not robot.simulated:
        refuse_copy(registry)
    digest, stage = _resolved(registry, entry.name, robot)
    decision = _decision_of(registry, digest, stage, robot)
    limits = _limits_of(registry, decision)
    pinned = registry.pinned(digest)
    for problem in _problems(registry, limits, pinned, robot, twin, moment):
        raise RegistryError(f"{entry.registry}: {digest[:12]} may not act on {robot.id}: {problem}")
    used = episodes_used(registry, decision.digest)
    permit = Permit(digest, pinned.path, stage, decision.digest, registry.id, limits, max(0, limits.episodes - used))
    permit.refuse_expired(moment)
    if episodes > (permit.left or 0):
        raise RegistryError(
            f"{entry.registry}: the decision for {digest[:12]} ({stage}) allows {limits.episodes} episodes; {used} are "
            f"used or reserved, and {episodes} more were asked for. "
            + ("`twinloop promote` decides from the trials so far" if stage == "canary" else "Promote it again")
        )
    return permit


def reserve(entry: RegistryEntry, permit: Permit, runlog: Path, robot: RobotIdentity, *, episodes: int) -> None:
    """Enter in the ledger that `runlog` will hold this many episodes under the decision, before the first one runs.

    The same runlog may be continued: only episodes beyond an earlier reservation count again.
    """
    with writing(entry.registry) as writer:
        registry = writer.registry
        reserved = reservations(registry, permit.decision)
        place = str(runlog.resolve())
        if reserved.get(place, 0) >= episodes:
            return
        others = sum(count for other, count in reserved.items() if other != place)
        assert permit.limits is not None
        if others + episodes > permit.limits.episodes:
            raise RegistryError(
                f"{entry.registry}: the decision {permit.decision[:12]} allows {permit.limits.episodes} episodes; "
                f"{others} are reserved by other sessions, so {place} may not hold {episodes}"
            )
        writer.add(
            USAGE, "reserved", checkpoint=permit.checkpoint,
            details={"decision": permit.decision, "runlog": place, "episodes": episodes, "robot": robot.id},
        )  # fmt: skip


def reservations(registry: Registry, decision: str) -> dict[str, int]:
    """Runlog -> number of episodes that were reserved for it under a decision."""
    counts: dict[str, int] = {}
    for record in registry.ledger.records:
        if record.kind == USAGE and record.details.get("decision") == decision:
            place = str(record.details["runlog"])
            counts[place] = max(counts.get(place, 0), int(record.details["episodes"]))
    return counts


def episodes_used(registry: Registry, decision: str) -> int:
    return sum(reservations(registry, decision).values())


def _resolved(registry: Registry, name: str, robot: RobotIdentity) -> tuple[str, Literal["production", "canary"]]:
    """The checkpoint and stage that a name means on this robot."""
    if name == "production":
        live = registry.live_on(robot.id)
        if not live:
            raise RegistryError(
                f"{registry.path}: nothing is live on {robot.id}; `twinloop status` lists the policies, "
                "`twinloop promote` brings one to production"
            )
        return live, "production"
    entry = registry.state.fleet.get(robot.id)
    on_trial = entry.checkpoint if entry is not None and entry.stage == "canary" else ""
    if name == "canary" and on_trial:
        return on_trial, "canary"
    if name == "canary":
        digests = [digest for digest, stage in registry.state.stages.items() if stage == "canary"]
        digests = [digest for digest in digests if digest != registry.production]
        if len(digests) != 1:
            choice = ", ".join(digest[:12] for digest in digests) or "none"
            raise RegistryError(f"{registry.path}: canary must be one policy; in canary: {choice}. Name its digest")
        return digests[0], "canary"
    digest = named(registry.path, name)
    stage: Stage | None = registry.state.stages.get(digest)
    if registry.live_on(robot.id) == digest:
        stage = "production"
    if stage == "canary" or digest == on_trial:
        return digest, "canary"
    if stage == "production":
        return digest, "production"
    raise RegistryError(
        f"{registry.path}: {digest[:12]} is at stage {stage or 'unknown'}; only policies in canary or production may "
        f"act on a robot through the gate. `twinloop promote {digest[:12]}` says what is missing"
    )


def _decision_of(registry: Registry, digest: str, stage: str, robot: RobotIdentity) -> LedgerRecord:
    """The record that brought the policy to this stage. A rollback restores the policy's own earlier promotion."""
    entry = registry.state.fleet.get(robot.id)
    if entry is not None and entry.decision and (entry.checkpoint, entry.stage) == (digest, stage):
        return registry.record(entry.decision)
    promotions = [
        record
        for record in registry.ledger.records
        if record.kind == DECISION and record.checkpoint == digest
        and record.verdict == PROMOTED and record.transition.endswith(f" -> {stage}")
    ]  # fmt: skip
    if not promotions:
        raise RegistryError(f"{registry.path}: has no decision that brought {digest[:12]} to {stage}")
    return promotions[-1]


def decided_limits(registry: Registry, digest: str) -> StageLimits:
    """The limits of the decision that brought a checkpoint to its stage, at most canary."""
    return _limits_of(registry, registry.state.decided[digest])


def _limits_of(registry: Registry, decision: LedgerRecord) -> StageLimits:
    try:
        return StageLimits.from_json(decision.details[PERMIT])
    except (KeyError, TypeError, ValueError):
        raise RegistryError(
            f"{registry.path}: decision {decision.sequence} states no limits, as those of version 0.1; promote again"
        ) from None


def _problems(
    registry: Registry, limits: StageLimits, pinned: Pinned, robot: RobotIdentity, twin: str, now: datetime
) -> Iterator[str]:
    if pinned.card.space.robot != robot.model:
        yield f"it was trained for {pinned.card.space.robot}, and this robot is a {robot.model}"
    latest = registry.ledger.records[-1]
    if latest.moment > now + CLOCK_TOLERANCE:
        yield (
            f"the last record of the ledger is from {latest.time}, and this computer's clock says "
            f"{now.isoformat(timespec='seconds')}; set the clock"
        )
    if limits.twins and all(config in registry.state.demoted for config in limits.twins):
        yield "every twin that it was evaluated in is demoted; evaluate it in another twin and promote it again"
    if twin and twin not in limits.twins:
        yield (
            f"its twin has changed: the robot names a config with digest {twin[:12]}, and the policy was evaluated in "
            f"{', '.join(config[:12] for config in limits.twins) or 'no twin'}. Evaluate it there and promote again"
        )
    yield from _robot_problems(limits, robot)


def _robot_problems(limits: StageLimits, robot: RobotIdentity) -> Iterator[str]:
    decided = {known.id: known for known in limits.robots}
    known = decided.get(robot.id)
    if known is not None:
        difference = known.difference(robot)
        if difference:
            yield f"the robot is not the one that was decided on: {difference}. Promote again on this robot"
    elif not robot.simulated:
        names = ", ".join(sorted(robot.id for robot in limits.robots if not robot.simulated)) or "no hardware"
        yield (
            f"the decision is about {names}. Run a canary on this robot: "
            f"`twinloop promote --to canary --robot {robot.id} --human-ready`, or a roll-out in waves"
        )


def policy_named(name: str, registry: Path) -> RegistryEntry | Path:
    """The entry of the registry that a word names, or a path. An existing path has precedence over a digest."""
    if name in DEPLOYABLE or (is_prefix(name) and not Path(name).exists() and registry.is_dir()):
        return RegistryEntry(registry, name)
    return Path(name)


def model_of(entry: RegistryEntry) -> str:
    """The robot model that the policy of an entry was trained for."""
    registry = _open(entry)
    digest, _ = _resolved(registry, entry.name, ANY_ROBOT)
    return registry.pinned(digest).card.space.robot


def _open(entry: RegistryEntry) -> Registry:
    if not (entry.registry / LEDGER).is_file():
        raise UsageError(
            f"{entry.registry}: is not a registry, so {entry.name!r} names no policy; give --registry DIR, or the path "
            "of a checkpoint for a simulated robot"
        )
    return Registry.open(entry.registry)

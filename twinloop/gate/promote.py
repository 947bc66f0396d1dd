"""Promote a checkpoint stage by stage. Missing evidence is made on the way if it can be.

Evidence is gathered without the lock, because trials on a robot may take hours. Only the decision is entered under it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from twinloop.errors import RegistryError, UsageError
from twinloop.gate.case import Canary, Case, case_of
from twinloop.gate.decision import Decision, decide, enter
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import STAGES, Stage
from twinloop.gate.repeats import folder_of
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.store import look_at, named


@dataclass(frozen=True)
class PromoteConfig:
    """A promotion: the policy, and its evidence.

    Attributes:
        checkpoint: a folder, or the first digits of the digest of a checkpoint in the registry.
        to: the stage to reach; None: as far as evidence allows.
        data: folders of the training datasets, or folders that contain them.
        canary: limits of the trials on the robot.
        actor: name of the person or program that promotes; by default the user.
        key: private key that signs the decisions; by default the file that TWINLOOP_KEY names.
    """

    checkpoint: str
    registry: Path
    rules: RulesConfig
    to: Stage | None = None
    evaluations: tuple[Path, ...] = ()
    runlogs: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    human_ready: bool = False
    canary: Canary | None = None
    actor: str = ""
    key: Path | None = None


Maker = Callable[[Case, Path], Path | None]
"""Makes evidence for a case in a folder and returns that folder, or None if there is nothing to make."""


@dataclass(frozen=True)
class Makers:
    """Functions that make missing evidence: evaluations in the twin, trials on the robot, their repeats in the twin."""

    evaluation: Maker | None = None
    runlog: Maker | None = None
    repeats: Maker | None = None


@dataclass(frozen=True)
class PromotionStep:
    """One step. `record` is None if no evidence was given for it; the step is then only reported."""

    decision: Decision
    record: LedgerRecord | None


@dataclass(frozen=True)
class Promotion:
    """The result. `promoted` is whether the stage in `to` was reached or, without `to`, a later stage than before."""

    digest: str
    name: str
    steps: tuple[PromotionStep, ...]
    reached: Stage
    promoted: bool
    registry: Registry = field(repr=False)


def promote(
    config: PromoteConfig,
    makers: Makers = Makers(),  # noqa: B008
    *,
    on_step: Callable[[PromotionStep], None] = lambda _: None,
) -> Promotion:
    digest, name, folders = _pinned(config)
    steps: list[PromotionStep] = []
    while True:
        registry = Registry.open(config.registry)
        stage = registry.stage(digest) or "candidate"
        done = stage == "production" or (config.to is not None and STAGES.index(stage) >= STAGES.index(config.to))
        if done:
            reached = stage
            break
        case, made_evidence = _case(config, registry, digest, folders, makers, stage)
        decision = decide(case, stage, name=name)
        # A step after the last requested one is reported, but not recorded as a refusal.
        enters = (
            decision.promoted or made_evidence or not steps or config.to is not None or _shown_for(config, decision)
        )
        step = PromotionStep(decision, _enter(config, case, decision) if enters else None)
        steps.append(step)
        on_step(step)
        if not decision.promoted:
            reached = stage
            break
    moved = any(step.decision.promoted for step in steps)
    wanted = config.to is not None and STAGES.index(reached) >= STAGES.index(config.to)
    live = reached == "production"
    promoted = (moved or live) if config.to is None else wanted
    return Promotion(digest, name, tuple(steps), reached, promoted, Registry.open(config.registry))


def _pinned(config: PromoteConfig) -> tuple[str, str, tuple[Path, ...]]:
    """Pin the checkpoint in the registry and return its digest, its name and the folders that may contain its data."""
    folder = Path(config.checkpoint)
    if folder.is_dir():
        look_at(folder)
        with writing(config.registry, actor=config.actor, key=config.key) as writer:
            digest = writer.pin(folder).digest
        home = folder.resolve()
        around = (Path(), Path("datasets"), home.parent, home.parent.parent / "datasets", home.parent.parent)
        return digest, home.name, (*config.data, *around)
    if not config.registry.is_dir():
        raise UsageError(f"{config.checkpoint}: is not a folder; a checkpoint that `twinloop train` wrote was expected")
    digest = named(config.registry, config.checkpoint)
    registry = Registry.open(config.registry)
    name = next(
        (str(record.details["name"]) for record in registry.ledger.records
         if record.checkpoint == digest and "name" in record.details), digest[:12],
    )  # fmt: skip
    return digest, name, (*config.data, Path(), Path("datasets"))


def _case(
    config: PromoteConfig,
    registry: Registry,
    digest: str,
    folders: Sequence[Path],
    makers: Makers,
    stage: Stage,
) -> tuple[Case, bool]:
    """Return the case, and whether evidence was made for it."""

    def gathered(evaluations: Sequence[Path], runlogs: Sequence[Path]) -> Case:
        return case_of(
            registry, registry.pinned(digest), config.rules, evaluations=evaluations, runlogs=runlogs,
            folders=folders, human_ready=config.human_ready, canary=config.canary,
        )  # fmt: skip

    case = gathered(config.evaluations, config.runlogs)
    out = folder_of(config.registry, digest)
    evidence = None
    if stage == "candidate" and makers.evaluation:
        evidence = makers.evaluation(case, out / "evaluation")
        if evidence is not None:
            case = gathered((*config.evaluations, evidence), config.runlogs)
    elif stage == "canary":
        evidence = makers.runlog(case, out / "runlog") if makers.runlog else None
        logs = (*config.runlogs, evidence) if evidence is not None else config.runlogs
        if evidence is not None:
            case = gathered(config.evaluations, logs)
        again = makers.repeats(case, out) if makers.repeats else None
        if again is not None:
            evidence, case = again, gathered(config.evaluations, logs)
    return case, evidence is not None


def _shown_for(config: PromoteConfig, decision: Decision) -> bool:
    return {"canary": config.human_ready, "production": bool(config.runlogs)}.get(decision.to, False)


def _enter(config: PromoteConfig, case: Case, decision: Decision) -> LedgerRecord:
    """Record the decision under the lock, if the registry has not changed since it was made."""
    with writing(config.registry, actor=config.actor, key=config.key) as writer:
        now, then = writer.registry, case.registry
        if now.production != then.production or now.stage(case.digest) != then.stage(case.digest):
            raise RegistryError(
                f"{config.registry}: the live policy or the stage of {decision.name} changed while evidence was "
                "gathered; run the same command again"
            )
        now.pinned(case.digest)
        return enter(writer, case, decision)

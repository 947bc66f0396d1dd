"""Promote: from a checkpoint to a stage, one step at a time, making evidence on the way where it is missing and can be.

Evidence is gathered without a lock, which may take hours on a robot; a decision is entered under it, in moments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from twinloop.errors import RegistryError, UsageError
from twinloop.gate.case import Canary, Case, case_of
from twinloop.gate.decision import Decision, decide, enter
from twinloop.gate.ledger import LedgerRecord
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import STAGES, Stage
from twinloop.gate.repeats import folder_of
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.store import look_at, named


@dataclass(frozen=True)
class PromoteConfig:
    """checkpoint: a folder, or the beginning of the digest of one that is in the registry.
    to: the stage to reach; None: as far as evidence allows. data: folders of the training's datasets, or above them.
    canary: what trials on the robot are limited to. actor: who asks; the user by default."""

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


Maker = Callable[[Case, Path], Path | None]
"""Makes evidence for a case in a folder; that folder, or None if there is nothing to make."""


@dataclass(frozen=True)
class Makers:
    """Whoever can make what is missing: evaluations in the twin, trials on the robot, their repeats in the twin."""

    evaluation: Maker | None = None
    runlog: Maker | None = None
    repeats: Maker | None = None


@dataclass(frozen=True)
class PromotionStep:
    """record: None for a step that was only looked at, since nothing was shown for it."""

    decision: Decision
    record: LedgerRecord | None


@dataclass(frozen=True)
class Promotion:
    """reached: the stage now. moved: whether it is a later one than before, or the one that was asked for."""

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
        case, made = _case(config, registry, digest, folders, makers, stage)
        decision = decide(case, stage, name=name)
        # The step after one that was made: told, but not entered as a refusal of something nobody asked for.
        asked = decision.promoted or made or not steps or config.to is not None or _shown_for(config, decision)
        step = PromotionStep(decision, _enter(config, case, decision) if asked else None)
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
    """(digest, name, where its data may be) of the checkpoint, which is in the registry when this returns."""
    folder = Path(config.checkpoint)
    if folder.is_dir():
        look_at(folder)
        with writing(config.registry, actor=config.actor) as writer:
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
    """And whether evidence was made for it."""

    def gathered(evaluations: Sequence[Path], runlogs: Sequence[Path]) -> Case:
        return case_of(
            registry, registry.pinned(digest), config.rules, evaluations=evaluations, runlogs=runlogs,
            folders=folders, human_ready=config.human_ready, canary=config.canary,
        )  # fmt: skip

    case = gathered(config.evaluations, config.runlogs)
    out = folder_of(config.registry, digest)
    made = None
    if stage == "candidate" and makers.evaluation:
        made = makers.evaluation(case, out / "evaluation")
        if made is not None:
            case = gathered((*config.evaluations, made), config.runlogs)
    elif stage == "canary":
        made = makers.runlog(case, out / "runlog") if makers.runlog else None
        logs = (*config.runlogs, made) if made is not None else config.runlogs
        if made is not None:
            case = gathered(config.evaluations, logs)
        again = makers.repeats(case, out) if makers.repeats else None
        if again is not None:
            made, case = again, gathered(config.evaluations, logs)
    return case, made is not None


def _shown_for(config: PromoteConfig, decision: Decision) -> bool:
    return {"canary": config.human_ready, "production": bool(config.runlogs)}.get(decision.to, False)


def _enter(config: PromoteConfig, case: Case, decision: Decision) -> LedgerRecord:
    """Under the lock, if nothing that it was decided on has changed meanwhile."""
    with writing(config.registry, actor=config.actor) as writer:
        now, then = writer.registry, case.registry
        if now.production != then.production or now.stage(case.digest) != then.stage(case.digest):
            raise RegistryError(
                f"{config.registry}: what is live, or the stage of {decision.name}, changed while evidence was "
                "gathered; run the same command again"
            )
        now.pinned(case.digest)
        return enter(writer, case, decision)

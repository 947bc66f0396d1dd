"""Promote a policy through the gate, and roll back."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from twinloop.api.arguments import CheckpointLike, ConfigLike, PathOrStr, RunlogLike, folder, folders, named_config
from twinloop.gate.case import Canary
from twinloop.gate.promote import Makers, PromoteConfig, Promotion, PromotionStep
from twinloop.gate.promote import promote as _promote
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import Stage
from twinloop.gate.rules.config import load_rules
from twinloop.gate.store import named

NOTHING = "nothing"


def promote(
    checkpoint: CheckpointLike,
    *,
    registry: PathOrStr = "registry",
    to: Stage | None = None,
    rules: PathOrStr | None = None,
    evaluations: PathOrStr | Iterable[PathOrStr] = (),
    runlogs: RunlogLike | Iterable[RunlogLike] = (),
    data: PathOrStr | Iterable[PathOrStr] = (),
    config: ConfigLike | None = None,
    robot: str = "",
    human_ready: bool = False,
    actor: str = "",
    on_step: Callable[[PromotionStep], None] | None = None,
) -> Promotion:
    """Move a policy from candidate to validated, canary and production, as far as the evidence allows.

    Every decision is entered in the registry's ledger, with its reasons and its evidence.

    Args:
        checkpoint: the policy, its folder, or the first digits of its digest if the registry has it.
        registry: the registry's folder. It is created if it does not exist.
        to: the stage to stop at: `"validated"`, `"canary"` or `"production"`. Default: as far as possible.
        rules: a YAML file of rules. Default: the embedded rules.
        evaluations: folders that `evaluate` wrote.
        runlogs: real episodes that `deploy` wrote.
        data: folders to search for the datasets of the training.
        config: evaluate the policy in this twin if evidence from the twin is missing.
        robot: run the canary trials on this robot if evidence from the robot is missing.
        human_ready: a person who can stop the robot is present.
        actor: who asks, for the ledger. Default: the user of this process.
        on_step: called after every decision.

    Example:
        >>> promotion = tl.promote("policies/demo", evaluations="evaluations/demo", registry="registry")
        >>> promotion.promoted, promotion.reached     # eight rollouts are not enough evidence
        (False, 'candidate')
    """
    from twinloop.deploy.robots import identify_hardware

    gate_rules = load_rules(Path(rules) if rules is not None else None)
    known = Path(checkpoint).is_dir() if isinstance(checkpoint, str) else True
    settings = PromoteConfig(
        checkpoint=str(folder(checkpoint)) if known else str(checkpoint),
        registry=Path(registry),
        rules=gate_rules,
        to=to,
        evaluations=folders(evaluations),
        runlogs=folders(runlogs),
        data=folders(data),
        human_ready=human_ready,
        canary=Canary(robot, gate_rules.canary.speed, gate_rules.canary.episodes, identify_hardware(robot)),
        actor=actor,
    )
    return _promote(settings, _makers(config, robot), on_step=on_step or (lambda _: None))


def rollback(
    registry: PathOrStr = "registry", *, to: str = "", because: str = "requested from Python", actor: str = ""
) -> Registry:
    """Return to the policy that was in production before, at once.

    Args:
        registry: the registry's folder.
        to: the first digits of a policy that was in production before, or `"nothing"` to withdraw the live policy.
            Default: the previous one.
        because: the reason, for the ledger.
        actor: who asks, for the ledger. Default: the user of this process.

    Returns:
        The registry after the change; `production` is the digest of the live policy, or an empty string.

    Example:
        >>> tl.rollback("registry")
        Traceback (most recent call last):
        twinloop.errors.RegistryError: ...
    """
    path = Path(registry)
    with writing(path, actor=actor) as writer:
        if to == NOTHING:
            writer.withdraw(reasons=[because])
        else:
            writer.roll_back(to=named(path, to) if to else "", reasons=[because])
    return Registry.open(path)


def _makers(config: ConfigLike | None, robot: str) -> Makers:
    """The functions that make missing evidence: in the twin of `config`, and on `robot`."""
    from twinloop.deploy.canary import runlog_maker
    from twinloop.deploy.keys import terminal
    from twinloop.gate.evidence_makers import evaluation_maker, repeats_maker

    evaluation = runlog = repeats = None
    if config is not None:
        run_config, name = named_config(config)
        evaluation = evaluation_maker(run_config, name, workers=None, show=_silent, progress_of=lambda _: None)
        repeats = repeats_maker(run_config, name, show=_silent, progress_of=lambda _: None)
    if robot:
        runlog = runlog_maker(robot, attended=terminal(), show=_silent, progress_of=lambda *_: None)
    return Makers(evaluation, runlog, repeats)


def _silent(_doing: str) -> AbstractContextManager[Callable[[None], None]]:
    return nullcontext(lambda _: None)

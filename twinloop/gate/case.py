"""Case: the input of one decision: a checkpoint, the rules, and all evidence given for it, now or earlier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from twinloop.dataset.real_episodes import RealEpisodes, in_utc
from twinloop.errors import RegistryError, TwinloopError
from twinloop.gate.evidence import EvaluationEvidence, TrainingData, TwinRate, by_twin, show_evaluation, training_data
from twinloop.gate.registry import Registry
from twinloop.gate.repeats import Repeats, repeats_of
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.runlog_evidence import RunlogEvidence, all_episodes, load_runlog, require_shown
from twinloop.gate.store import Pinned, pinned_evaluation
from twinloop.gate.trust import TwinTrust, twins_of

AGAINST = "against"
"""Subfolder of an evaluation in which `twinloop evaluate --against` writes the evaluation of the other policy."""


@dataclass(frozen=True)
class Canary:
    """Limits of the trials on the robot.

    Attributes:
        robot: name of the robot.
        speed: share of the robot's own speed.
        episodes: largest number of episodes of the candidate.
    """

    robot: str
    speed: float
    episodes: int


@dataclass(frozen=True)
class Case:
    """The input of one decision.

    Attributes:
        evaluations: evaluations of the checkpoint.
        rivals: evaluations of the live policy, if that is another checkpoint.
        troubles: error messages about evidence that is missing, altered or unreadable.
        folders: folders that are searched for training data.
        human_ready: whether somebody confirmed that a person can stop the robot.
        trust: twin digest -> trust in that twin.
        repeats: real trials of the checkpoint, repeated in the twin.
    """

    registry: Registry
    checkpoint: Pinned
    rules: RulesConfig
    evaluations: tuple[EvaluationEvidence, ...]
    rivals: tuple[EvaluationEvidence, ...]
    runlogs: tuple[RunlogEvidence, ...]
    troubles: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    human_ready: bool = False
    canary: Canary | None = None
    trust: Mapping[str, TwinTrust] = field(default_factory=dict)
    repeats: tuple[Repeats, ...] = ()

    @property
    def digest(self) -> str:
        return self.checkpoint.digest

    @property
    def incumbent(self) -> str:
        """Digest of the live policy; "" if nothing is live or this checkpoint is."""
        live = self.registry.production
        return "" if live == self.digest else live

    @cached_property
    def twins(self) -> tuple[TwinRate, ...]:
        return by_twin(self.evaluations)

    @cached_property
    def episodes(self) -> RealEpisodes:
        """Real episodes; if the checkpoint was rolled back from, only those recorded after that."""
        found = all_episodes(self.runlogs)
        left = self.registry.standing.left.get(self.digest)
        return found if left is None else found.take(found.recorded_at > in_utc(left))

    @cached_property
    def data(self) -> tuple[TrainingData, ...]:
        return training_data(self.checkpoint.card, self.folders)


def case_of(
    registry: Registry,
    checkpoint: Pinned,
    rules: RulesConfig,
    *,
    evaluations: Sequence[Path] = (),
    runlogs: Sequence[Path] = (),
    folders: Sequence[Path] = (),
    human_ready: bool = False,
    canary: Canary | None = None,
) -> Case:
    """Read the evidence given now and all evidence given before.

    Evidence that cannot be read or was altered is listed in `troubles`; it is not treated as absent.
    """
    troubles: list[str] = []
    shown = list(_evaluations(registry, checkpoint.digest, evaluations, troubles))
    logs = tuple(_runlogs(registry, checkpoint, runlogs, troubles))
    before = registry.standing.shown.get(checkpoint.digest, ())
    repeats = repeats_of(registry.path, checkpoint.digest, before, troubles)
    live = registry.production
    trust = twins_of(registry, rules.canary, shown=[each.to_json() for each in (*shown, *logs)])
    return Case(
        registry=registry,
        checkpoint=checkpoint,
        rules=rules,
        evaluations=tuple(each for each in shown if each.checkpoint == checkpoint.digest),
        rivals=tuple(each for each in shown if each.checkpoint == live and live != checkpoint.digest),
        runlogs=logs,
        troubles=tuple(dict.fromkeys(troubles)),
        folders=tuple(folders),
        human_ready=human_ready,
        canary=canary,
        trust=trust,
        repeats=repeats,
    )


def _evaluations(
    registry: Registry, digest: str, given: Sequence[Path], troubles: list[str]
) -> Sequence[EvaluationEvidence]:
    found: dict[str, EvaluationEvidence] = {}
    live = registry.production
    for folder in given:
        for place in (folder, folder / AGAINST):
            if place != folder and not place.is_dir():
                continue
            try:
                each = show_evaluation(place)
                if each.checkpoint not in (digest, live):
                    who = f"is of checkpoint {each.checkpoint[:12]}..., not of {digest[:12]}..."
                    if place == folder:
                        raise RegistryError(f"{place}: {who}; evaluate this one")
                    continue
                found[each.digest] = each
            except (TwinloopError, ValueError, TypeError) as error:
                troubles.append(str(error))
    for owner in (digest, live):
        for entry in registry.standing.shown.get(owner, ()) if owner else ():
            if entry.get("kind") == "evaluation" and entry["digest"] not in found:
                try:
                    each = show_evaluation(pinned_evaluation(registry.path, str(entry["digest"])))
                    found[each.digest] = each
                except (TwinloopError, ValueError, TypeError) as error:
                    troubles.append(str(error))
    return tuple(found.values())


def _runlogs(
    registry: Registry, checkpoint: Pinned, given: Sequence[Path], troubles: list[str]
) -> Sequence[RunlogEvidence]:
    found: dict[Path, RunlogEvidence] = {}
    robot = checkpoint.card.space.robot
    before = [entry for entry in registry.standing.shown.get(checkpoint.digest, ()) if entry.get("kind") == "runlog"]
    for path in (*given, *(Path(str(entry["path"])) for entry in before)):
        place = path.resolve()
        if place in found:
            continue
        try:
            log = load_runlog(place)
            if log.robot != robot:
                raise RegistryError(f"{path}: is of a {log.robot}; this policy is for a {robot}")
            found[place] = log
        except (TwinloopError, ValueError, TypeError, OSError) as error:
            troubles.append(str(error))
    for entry in before:
        try:
            require_shown(Path(str(entry["path"])), attempts=int(entry["attempts"]), digest=str(entry["digest"]))
        except (TwinloopError, ValueError, TypeError, OSError) as error:
            troubles.append(str(error))
    return tuple(found.values())


def evidence_of(case: Case) -> tuple[dict[str, Any], ...]:
    """Return all evidence of a case with its digests, as it is written to the ledger."""
    return (
        *(each.to_json() for each in case.evaluations),
        *(each.to_json() for each in case.rivals),
        *(each.to_json() for each in case.runlogs),
        *(each.to_json() for each in case.repeats),
    )

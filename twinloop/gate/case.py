"""Case: the input of one decision: a checkpoint, the rules, and all evidence given for it, now or earlier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.real_episodes import RealEpisodes, in_utc
from twinloop.errors import RegistryError, TwinloopError
from twinloop.gate.evidence import EvaluationEvidence, TrainingData, TwinRate, by_twin, show_evaluation, training_data
from twinloop.gate.registry import Registry
from twinloop.gate.repeats import Repeats, repeats_of
from twinloop.gate.robot_identity import RobotIdentity
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
        identity: how the robot described itself. Without it, the trials may run on simulated robots only.
    """

    robot: str
    speed: float
    episodes: int
    identity: RobotIdentity | None = None

    @property
    def on_hardware(self) -> bool:
        return self.identity is not None and not self.identity.simulated


@dataclass(frozen=True)
class Case:
    """The input of one decision.

    Attributes:
        evaluations: evaluations of the checkpoint.
        rivals: evaluations of the live policy, if that is another checkpoint.
        problems: error messages about evidence that is missing, altered or unreadable.
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
    problems: tuple[str, ...]
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
    def all_episodes(self) -> RealEpisodes:
        """Real episodes; if the checkpoint was rolled back from, only those recorded after that."""
        episodes = all_episodes(self.runlogs)
        left = self.registry.state.left.get(self.digest)
        return episodes if left is None else episodes.take(episodes.recorded_at > in_utc(left))

    @cached_property
    def episodes(self) -> RealEpisodes:
        """Real episodes that a decision of this registry allowed. Only these are evidence for production."""
        episodes = self.all_episodes
        return episodes.take((episodes.stage != "ungated") & (episodes.registry == self.registry.id))

    @property
    def ungated(self) -> int:
        """Number of the candidate's episodes that no decision of this registry allowed."""
        return len(self.all_episodes.of(self.digest)) - len(self.episodes.of(self.digest))

    @cached_property
    def on_hardware(self) -> bool:
        """Whether the step is about hardware: the robot of the trials is, or was."""
        trials = self.episodes.of(self.digest)
        return (self.canary is not None and self.canary.on_hardware) or not bool(np.all(trials.simulated))

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

    Evidence that cannot be read or was altered is listed in `problems`; it is not treated as absent.
    """
    problems: list[str] = []
    evidence = list(_evaluations(registry, checkpoint.digest, evaluations, problems))
    logs = tuple(_runlogs(registry, checkpoint, runlogs, problems))
    before = registry.state.evidence.get(checkpoint.digest, ())
    repeats = repeats_of(registry.path, checkpoint.digest, before, problems)
    live = registry.production
    trust = twins_of(registry, rules.canary, evidence=[entry.to_json() for entry in (*evidence, *logs)])
    return Case(
        registry=registry,
        checkpoint=checkpoint,
        rules=rules,
        evaluations=tuple(entry for entry in evidence if entry.checkpoint == checkpoint.digest),
        rivals=tuple(entry for entry in evidence if entry.checkpoint == live and live != checkpoint.digest),
        runlogs=logs,
        problems=tuple(dict.fromkeys(problems)),
        folders=tuple(folders),
        human_ready=human_ready,
        canary=canary,
        trust=trust,
        repeats=repeats,
    )


def _evaluations(
    registry: Registry, digest: str, given: Sequence[Path], problems: list[str]
) -> Sequence[EvaluationEvidence]:
    by_digest: dict[str, EvaluationEvidence] = {}
    live = registry.production
    for folder in given:
        for place in (folder, folder / AGAINST):
            if place != folder and not place.is_dir():
                continue
            try:
                evaluation = show_evaluation(place)
                if evaluation.checkpoint not in (digest, live):
                    problem = f"evaluates checkpoint {evaluation.checkpoint[:12]}..., not {digest[:12]}..."
                    if place == folder:
                        raise RegistryError(f"{place}: {problem}; run `twinloop evaluate` with this checkpoint")
                    continue
                by_digest[evaluation.digest] = evaluation
            except (TwinloopError, ValueError, TypeError) as error:
                problems.append(str(error))
    for owner in (digest, live):
        for entry in registry.state.evidence.get(owner, ()) if owner else ():
            if entry.get("kind") == "evaluation" and entry["digest"] not in by_digest:
                try:
                    evaluation = show_evaluation(pinned_evaluation(registry.path, str(entry["digest"])))
                    by_digest[evaluation.digest] = evaluation
                except (TwinloopError, ValueError, TypeError) as error:
                    problems.append(str(error))
    return tuple(by_digest.values())


def _runlogs(
    registry: Registry, checkpoint: Pinned, given: Sequence[Path], problems: list[str]
) -> Sequence[RunlogEvidence]:
    by_path: dict[Path, RunlogEvidence] = {}
    robot = checkpoint.card.space.robot
    before = [entry for entry in registry.state.evidence.get(checkpoint.digest, ()) if entry.get("kind") == "runlog"]
    for path in (*given, *(Path(str(entry["path"])) for entry in before)):
        place = path.resolve()
        if place in by_path:
            continue
        try:
            log = load_runlog(place)
            if log.robot != robot:
                raise RegistryError(f"{path}: was recorded with robot {log.robot}; this policy is for {robot}")
            by_path[place] = log
        except (TwinloopError, ValueError, TypeError, OSError) as error:
            problems.append(str(error))
    for entry in before:
        try:
            require_shown(Path(str(entry["path"])), attempts=int(entry["attempts"]), digest=str(entry["digest"]))
        except (TwinloopError, ValueError, TypeError, OSError) as error:
            problems.append(str(error))
    return tuple(by_path.values())


def evidence_of(case: Case) -> tuple[dict[str, Any], ...]:
    """Return all evidence of a case with its digests, as it is written to the ledger."""
    return (
        *(evaluation.to_json() for evaluation in case.evaluations),
        *(rival.to_json() for rival in case.rivals),
        *(runlog.to_json() for runlog in case.runlogs),
        *(repeat.to_json() for repeat in case.repeats),
    )

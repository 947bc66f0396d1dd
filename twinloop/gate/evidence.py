"""Evidence from the twin: evaluations, and the training data of a policy. Every file is verified."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.curate.verdict import ACCEPTED, TASK_FAILED, TOO_LONG
from twinloop.dataset import verify
from twinloop.durable import digest_file
from twinloop.errors import CorruptError, DatasetError, TwinloopError
from twinloop.gate.evaluation import EPISODES, EVALUATION, LARGEST_BYTES, Evaluation, load_evaluation
from twinloop.gate.store import read_json
from twinloop.learn.card import REINFORCEMENT, Card

UNHARMFUL = (ACCEPTED, TASK_FAILED, TOO_LONG, "success", "duration")  # the last two are names of 0.1.0
"""Verdicts that are not counted as harm: the attempt was plausible and safe."""


@dataclass(frozen=True)
class EvaluationEvidence:
    """An evaluation that was read and checked. digest: of its JSON file, which contains the digest of its rows."""

    path: Path
    digest: str
    evaluation: Evaluation

    @property
    def checkpoint(self) -> str:
        return self.evaluation.subject.checkpoint_digest

    @property
    def twin(self) -> str:
        return self.evaluation.subject.config_digest

    def to_json(self) -> dict[str, Any]:
        subject = self.evaluation.subject
        return {
            "kind": "evaluation", "path": str(self.path), "digest": self.digest, "checkpoint": self.checkpoint,
            "files": {name: digest_file(self.path / name).sha256 for name in (EVALUATION, EPISODES)},
            "twin": self.twin, "config": subject.config_name, "seed": subject.seed,
            "episodes": len(self.evaluation.outcomes), "successes": self.evaluation.success.successes,
        }  # fmt: skip


@dataclass(frozen=True)
class TwinRate:
    """Rates of one policy in one twin, over all its evaluations. harm: attempts that were not plausible or not safe."""

    twin: str
    config: str
    success: Rate
    harm: Rate
    task: str
    evidence: tuple[str, ...]


def show_evaluation(folder: Path) -> EvaluationEvidence:
    """Read an evaluation. Its JSON must match its rows, and every row must be complete."""
    evaluation = load_evaluation(folder)
    outcomes = evaluation.outcomes
    where = folder / EPISODES
    if not len(outcomes):
        raise CorruptError(f"{where}: has no attempts")
    if outcomes.success.dtype != bool:
        raise CorruptError(f"{where}: success is missing in some attempts")
    if len(np.unique(outcomes.attempt)) != len(outcomes):
        raise CorruptError(f"{where}: an attempt occurs twice")
    for name, values in (("attempt", outcomes.attempt), ("completed", outcomes.completed),
                         ("duration_s", outcomes.duration_s)):  # fmt: skip
        if values.dtype.kind not in "iuf" or not np.isfinite(values.astype(float)).all():
            raise CorruptError(f"{where}: {name} is not a number in every attempt")
    if any(not isinstance(verdict, str) for verdict in outcomes.verdict):
        raise CorruptError(f"{where}: verdict is missing in some attempts")
    stored = read_json(folder / EVALUATION, LARGEST_BYTES)
    counted = evaluation.results()
    for key in ("episodes", "success", "verdicts"):
        if stored.get(key) != _as_json(counted[key]):
            raise CorruptError(
                f"{folder / EVALUATION}: {key} is {stored.get(key)!r:.80}, which does not match {EPISODES}"
            )
    return EvaluationEvidence(folder, digest_file(folder / EVALUATION).sha256, evaluation)


def _as_json(value: Any) -> Any:
    return {key: list(item) if isinstance(item, tuple) else item for key, item in value.items()} if isinstance(
        value, dict
    ) else value  # fmt: skip


def by_twin(evaluations: Iterable[EvaluationEvidence]) -> tuple[TwinRate, ...]:
    """Pool evaluations by twin.

    Every evaluation that was ever given counts, so repeating with other seeds until one is good does not help.
    """
    groups: dict[tuple[str, float | None], list[EvaluationEvidence]] = {}
    for evidence in evaluations:
        groups.setdefault((evidence.twin, evidence.evaluation.subject.ensemble), []).append(evidence)
    return tuple(_pooled(group) for group in groups.values())


def _pooled(group: Sequence[EvaluationEvidence]) -> TwinRate:
    outcome_of: dict[tuple[int, int], tuple[bool, bool]] = {}
    for evidence in group:
        outcomes, seed = evidence.evaluation.outcomes, evidence.evaluation.subject.seed
        harm = ~np.isin(outcomes.verdict.astype(str), UNHARMFUL)
        for attempt, success, harmed in zip(outcomes.attempt, outcomes.success, harm, strict=True):
            known = outcome_of.setdefault((seed, int(attempt)), (bool(success), bool(harmed)))
            # The same draw twice: a failure or a harm in either counts.
            outcome_of[(seed, int(attempt))] = (known[0] and bool(success), known[1] or bool(harmed))
    subject = group[0].evaluation.subject
    hits, harms = (sum(outcome[place] for outcome in outcome_of.values()) for place in (0, 1))
    rates = Rate(hits, len(outcome_of)), Rate(harms, len(outcome_of))
    return TwinRate(
        group[0].twin, subject.config_name, *rates, subject.task, tuple(evidence.digest for evidence in group)
    )


@dataclass(frozen=True)
class TrainingData:
    """One dataset of a card: its path, and the problem with it ("" if there is none)."""

    name: str
    digest: str
    path: Path | None
    problem: str

    def to_json(self) -> dict[str, Any]:
        path = str(self.path) if self.path else ""
        return {"kind": "dataset", "path": path, "digest": self.digest, "problem": self.problem}


def training_data(card: Card, folders: Sequence[Path]) -> tuple[TrainingData, ...]:
    """Search these folders for every dataset of a card, and verify it.

    A twin in which a policy was trained by reinforcement has no files: its config digest and seed are on the card.
    """
    return tuple(
        TrainingData(str(source.get("name", "")), str(source.get("config_digest", "")), None, "")
        if source.get("kind") == REINFORCEMENT
        else _data(source, folders)
        for source in card.data
    )


def _data(source: dict[str, Any], folders: Sequence[Path]) -> TrainingData:
    name, digest = str(source.get("path", "")), str(source.get("digest", ""))
    places = [folder for folder in folders if folder.name == Path(name).name]
    places += [folder / name for folder in folders] + [folder / Path(name).name for folder in folders]
    mismatch = ""
    for place in dict.fromkeys(places):
        if not (place / "dataset.json").is_file():
            continue
        try:
            report = verify(place)
            if report.digest != digest:
                mismatch = (
                    mismatch or f"{place}: has digest {report.digest[:12]}..., but the card names {digest[:12]}..."
                )
                continue
            report.require()
        except (DatasetError, TwinloopError) as error:
            return TrainingData(name, digest, place, str(error))
        return TrainingData(name, digest, place, "")
    return TrainingData(name, digest, None, mismatch or f"{name}: was not found; give its folder with --data DIR")

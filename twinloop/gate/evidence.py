"""What is shown to the gate from the twin: evaluations, and the data a policy was trained on. Believed once checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.curate.verdict import ACCEPTED, TASK_FAILED
from twinloop.dataset import verify
from twinloop.durable import digest_file
from twinloop.errors import CorruptError, DatasetError, TwinloopError
from twinloop.gate.evaluation import EPISODES, EVALUATION, LARGEST_BYTES, Evaluation, load_evaluation
from twinloop.gate.store import read_json
from twinloop.learn.card import Card

UNHARMFUL = (ACCEPTED, TASK_FAILED, "success")  # "success": how 0.1.0 called an episode that failed its task
"""Verdicts on attempts that did no harm: those that were fine, and those that only failed at the task."""


@dataclass(frozen=True)
class EvaluationEvidence:
    """digest: of its JSON, which names that of its rows."""

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
    """One policy in one twin, all its evaluations there together. harm: attempts beyond what is plausible or safe."""

    twin: str
    config: str
    success: Rate
    harm: Rate
    task: str
    evidence: tuple[str, ...]


def show_evaluation(folder: Path) -> EvaluationEvidence:
    """Read an evaluation; what its JSON says must be what its rows say, and each row must be whole."""
    evaluation = load_evaluation(folder)
    outcomes = evaluation.outcomes
    where = folder / EPISODES
    if not len(outcomes):
        raise CorruptError(f"{where}: holds no attempt")
    if outcomes.success.dtype != bool:
        raise CorruptError(f"{where}: success: is not known for every attempt")
    if len(np.unique(outcomes.attempt)) != len(outcomes):
        raise CorruptError(f"{where}: an attempt is there twice")
    for name, values in (("attempt", outcomes.attempt), ("completed", outcomes.completed),
                         ("duration_s", outcomes.duration_s)):  # fmt: skip
        if values.dtype.kind not in "iuf" or not np.isfinite(values.astype(float)).all():
            raise CorruptError(f"{where}: {name}: is not a number for every attempt")
    if any(not isinstance(verdict, str) for verdict in outcomes.verdict):
        raise CorruptError(f"{where}: verdict: is not known for every attempt")
    told = read_json(folder / EVALUATION, LARGEST_BYTES)
    counted = evaluation.results()
    for key in ("episodes", "success", "verdicts"):
        if told.get(key) != _as_json(counted[key]):
            raise CorruptError(f"{folder / EVALUATION}: {key}: says {told.get(key)!r:.80}, the rows say otherwise")
    return EvaluationEvidence(folder, digest_file(folder / EVALUATION).sha256, evaluation)


def _as_json(value: Any) -> Any:
    return {key: list(each) if isinstance(each, tuple) else each for key, each in value.items()} if isinstance(
        value, dict
    ) else value  # fmt: skip


def by_twin(shown: Iterable[EvaluationEvidence]) -> tuple[TwinRate, ...]:
    """Pooled: an evaluation that was shown once counts for ever, so a better seed cannot be looked for."""
    groups: dict[tuple[str, float | None], list[EvaluationEvidence]] = {}
    for each in shown:
        groups.setdefault((each.twin, each.evaluation.subject.ensemble), []).append(each)
    return tuple(_pooled(group) for group in groups.values())


def _pooled(group: Sequence[EvaluationEvidence]) -> TwinRate:
    seen: dict[tuple[int, int], tuple[bool, bool]] = {}
    for each in group:
        outcomes, seed = each.evaluation.outcomes, each.evaluation.subject.seed
        harm = ~np.isin(outcomes.verdict.astype(str), UNHARMFUL)
        for attempt, success, harmed in zip(outcomes.attempt, outcomes.success, harm, strict=True):
            known = seen.setdefault((seed, int(attempt)), (bool(success), bool(harmed)))
            # The same draw twice: a failure or a harm in either counts.
            seen[(seed, int(attempt))] = (known[0] and bool(success), known[1] or bool(harmed))
    subject = group[0].evaluation.subject
    hits, harms = (sum(each[place] for each in seen.values()) for place in (0, 1))
    rates = Rate(hits, len(seen)), Rate(harms, len(seen))
    return TwinRate(group[0].twin, subject.config_name, *rates, subject.task, tuple(each.digest for each in group))


@dataclass(frozen=True)
class TrainingData:
    """One dataset of a card: where it was found, and what is wrong with it, if anything is."""

    name: str
    digest: str
    path: Path | None
    problem: str

    def to_json(self) -> dict[str, Any]:
        found = str(self.path) if self.path else ""
        return {"kind": "dataset", "path": found, "digest": self.digest, "problem": self.problem}


def training_data(card: Card, folders: Sequence[Path]) -> tuple[TrainingData, ...]:
    """Look for every dataset of a card in these folders, and verify each that is found."""
    return tuple(_data(source, folders) for source in card.data)


def _data(source: dict[str, Any], folders: Sequence[Path]) -> TrainingData:
    name, digest = str(source.get("path", "")), str(source.get("digest", ""))
    places = [folder for folder in folders if folder.name == Path(name).name]
    places += [folder / name for folder in folders] + [folder / Path(name).name for folder in folders]
    other = ""
    for place in dict.fromkeys(places):
        if not (place / "dataset.json").is_file():
            continue
        try:
            report = verify(place)
            if report.digest != digest:
                other = other or f"{place}: has digest {report.digest[:12]}..., the card says {digest[:12]}..."
                continue
            report.require()
        except (DatasetError, TwinloopError) as error:
            return TrainingData(name, digest, place, str(error))
        return TrainingData(name, digest, place, "")
    return TrainingData(name, digest, None, other or f"{name}: was not found; --data DIR says where it is")

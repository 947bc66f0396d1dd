"""Evaluation: the results of a policy in one twin, on disk as `evaluation.json` and `episodes.parquet`.

Only the subject and the outcomes are read back. The rates in the JSON are for other programs and people; they are
computed from the outcomes.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.config.fields import version
from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import write_record
from twinloop.curate.rates import ParameterRates, Rate, success_by_parameter
from twinloop.dataset.parquet import EPISODE_OPTIONS, encode, read_table
from twinloop.durable import FileDigest, digest_file, replace_file, storage_errors
from twinloop.errors import CorruptError, UsageError
from twinloop.gate.outcomes import Outcomes

FORMAT_VERSION = 1
EVALUATION, EPISODES = "evaluation.json", "episodes.parquet"
LARGEST_BYTES = 1 << 24
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Subject:
    """The policy and the twin of an evaluation. Subject and attempt number reproduce an episode.

    Attributes:
        checkpoint: name of the checkpoint's folder.
        checkpoint_digest: identifies the checkpoint under any folder name.
        policy: its kind.
        ensemble: how action chunks were averaged; empty if they were not.
        seed: run seed of the draws.
    """

    checkpoint: str
    checkpoint_digest: str
    policy: str
    config_name: str
    config_digest: str
    robot: str
    task: str
    phases: tuple[str, ...]
    seed: int
    ensemble: float | None
    versions: dict[str, str]


@dataclass(frozen=True)
class PhaseRate:
    """Completion rate of one phase, among the attempts that reached it."""

    name: str
    rate: Rate


@dataclass(frozen=True)
class Evaluation:
    subject: Subject
    outcomes: Outcomes

    @cached_property
    def success(self) -> Rate:
        return Rate(int(self.outcomes.success.sum()), len(self.outcomes))

    @cached_property
    def phases(self) -> tuple[PhaseRate, ...]:
        completed = self.outcomes.completed
        return tuple(
            PhaseRate(name, Rate(int((completed > place).sum()), int((completed >= place).sum())))
            for place, name in enumerate(self.subject.phases)
        )

    @cached_property
    def parameters(self) -> tuple[ParameterRates, ...]:
        """Success by every drawn parameter, the strongest association first."""
        return success_by_parameter(self.outcomes.draws, self.outcomes.success)

    @cached_property
    def completion_s(self) -> dict[float, float]:
        """Quantile -> completion time of the successful attempts."""
        seconds = self.outcomes.completion_s[self.outcomes.success]
        return {share: float(np.quantile(seconds, share)) for share in QUANTILES} if len(seconds) else {}

    @cached_property
    def violations(self) -> dict[str, int]:
        """Check -> number of attempts that it rejected. `task_failed` exceeds no limit of plausibility or safety."""
        return _counts(self.outcomes.verdict, besides="accepted")

    @cached_property
    def failures(self) -> dict[str, int]:
        """Number of attempts by name of the failure."""
        return _counts(self.outcomes.failure, besides="")

    def results(self) -> dict[str, Any]:
        """The results as they are written to `evaluation.json`."""
        return {
            "episodes": len(self.outcomes),
            "success": rate_json(self.success),
            "phases": [{"phase": phase.name, **rate_json(phase.rate)} for phase in self.phases],
            "completion_s": {f"{share:g}": round(seconds, 4) for share, seconds in self.completion_s.items()},
            "failures": self.failures,
            "verdicts": self.violations,
            "parameters": [_parameter_json(rates) for rates in self.parameters],
        }


def _counts(names: np.ndarray, *, besides: str) -> dict[str, int]:
    values, counts = np.unique(names.astype(str), return_counts=True)
    return {str(name): int(count) for name, count in zip(values, counts, strict=True) if name != besides}


def rate_json(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    value = round(rate.value, 6) if rate.trials else None
    return {"successes": rate.successes, "trials": rate.trials, "rate": value, "low": low, "high": high}


def _parameter_json(rates: ParameterRates) -> dict[str, Any]:
    bins = [
        {"from": float(first), "to": float(last), **rate_json(rate)}
        for (first, last), rate in zip(rates.edges, rates.bins, strict=True)
    ]
    return {"parameter": rates.column, "p_value": rates.p_value, "strength": rates.strength, "bins": bins}


@dataclass(frozen=True, kw_only=True)
class EvaluationFile:
    """The content of `evaluation.json`: the subject, results for other readers, and the digest of the outcomes."""

    format_version: int = version(FORMAT_VERSION)
    subject: Subject
    episodes: int
    success: dict[str, Any]
    phases: tuple[dict[str, Any], ...]
    completion_s: dict[str, float]
    failures: dict[str, int]
    verdicts: dict[str, int]
    parameters: tuple[dict[str, Any], ...]
    outcomes: FileDigest


def write_evaluation(evaluation: Evaluation, folder: Path) -> Path:
    """Write both files. The JSON is written last and has the digest of the other, so a partial write is detected."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / EVALUATION).unlink(missing_ok=True)
        rows = encode(evaluation.outcomes.table(), EPISODE_OPTIONS)
        digest = replace_file(folder / EPISODES, rows.to_pybytes(), scratch=folder)
        file = EvaluationFile(subject=evaluation.subject, **evaluation.results(), outcomes=digest)
        text = json.dumps(write_record(file), indent=2, allow_nan=False) + "\n"
        replace_file(folder / EVALUATION, text.encode(), scratch=folder)
    return folder / EVALUATION


def load_evaluation(folder: Path) -> Evaluation:
    path = folder / EVALUATION
    if not path.is_file():
        raise UsageError(f"{folder}: has no {EVALUATION}; a folder that `twinloop evaluate` wrote was expected")
    content = load_json(path, max_bytes=LARGEST_BYTES, what="an evaluation", error=CorruptError)
    file = record_from_json(EvaluationFile, content, where=str(path), error=CorruptError)
    rows, subject = folder / EPISODES, file.subject
    if not rows.is_file() or digest_file(rows).sha256 != file.outcomes.sha256:
        raise CorruptError(f"{rows}: is missing or does not match {EVALUATION}; run `twinloop evaluate` again")
    try:
        return Evaluation(subject, Outcomes.of_table(read_table(rows), subject.phases))
    except (KeyError, ValueError, IndexError) as error:
        raise CorruptError(f"{rows}: cannot be read as the outcomes of an evaluation ({error!r:.200})") from None

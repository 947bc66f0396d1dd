"""Repeats: real trials of a policy, repeated in the twin under the same conditions, as a file in the registry.

Repeats allow few real trials and many twin trials to be combined into one success rate, for any bias of the twin. This
is valid only if the scenes on the robot have the same distribution as those of the evaluation. The file therefore
keeps both, and they are compared.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.config.fields import version
from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import write_record
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import CorruptError, TwinloopError
from twinloop.gate.evidence import EvaluationEvidence, by_twin
from twinloop.gate.statistics.prediction_powered import Combined, combine

FORMAT_VERSION = 1
TRIALS = "trials"
"""Folder in a registry for evidence that was made there."""
LARGEST_BYTES = 1 << 26
LAYOUT = ("object_x_m", "object_y_m", "object_yaw_deg", "goal_x_m", "goal_y_m")
"""Quantities in which the scenes of trials are compared."""
LEVEL = 0.05
"""Probability of a false alarm: scenes of the same distribution are judged different, over all of LAYOUT together."""
FIXED = (0.015, 0.015, 5.0, 0.015, 0.015)
"""Tolerance of each quantity in LAYOUT that hardly varies in the twin; sensors on the robot are not exact."""


@dataclass(frozen=True)
class Repeat:
    """One real trial, repeated in the twin.

    Attributes:
        trial: name of the real trial, see `trial_names`.
        object: the kind of object.
        layout: values of LAYOUT as logged; may be None if the trial was not repeated.
        success: outcome in the twin; None if the trial was not repeated.
        why: the reason why the trial was not repeated.
    """

    trial: str
    object: str
    layout: tuple[float, ...] | None
    success: bool | None
    why: str = ""


@dataclass(frozen=True)
class Repeats:
    """The repeated trials of one checkpoint in one twin.

    Attributes:
        checkpoint: digest of the checkpoint.
        twin: digest of the config.
        config: name of the config.
        object: the kind of object in the config.
        seed: seed of the run. Trial i has the draws of attempt i, except for its layout.
        ensemble: see ActingConfig.
        drawn: rows of LAYOUT, as drawn by the config.
        trials: the repeats; more may be appended later.
    """

    checkpoint: str
    twin: str
    config: str
    object: str
    seed: int
    ensemble: float | None
    drawn: tuple[tuple[float, ...], ...]
    trials: tuple[Repeat, ...]

    @property
    def file(self) -> str:
        return f"repeats-{self.twin[:12]}.json"

    def digest(self, trials: int | None = None) -> str:
        """Return the digest with only the first `trials` trials, or with all if None."""
        content = asdict(self) | {"trials": [asdict(trial) for trial in self.trials[:trials]]}
        return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        done = [trial.success for trial in self.trials if trial.success is not None]
        return {
            "kind": "repeats", "path": self.file, "digest": self.digest(), "trials": len(self.trials),
            "repeated": len(done), "successes": sum(done), "twin": self.twin, "config": self.config, "seed": self.seed,
        }  # fmt: skip


@dataclass(frozen=True)
class RepeatsFile:
    """The file that holds repeats.

    Attributes:
        digest: of the repeats.
    """

    digest: str
    repeats: Repeats
    format_version: int = version(FORMAT_VERSION)


def trial_names(real: RealEpisodes) -> list[str]:
    """Return one name per episode. The name does not use the index in a log, because logs grow and are merged."""
    columns = zip(real.recorded_at, real.scene, real.robot_id, strict=True)
    return [f"{moment} scene {scene} {robot}" for moment, scene, robot in columns]


def folder_of(registry: Path, checkpoint: str) -> Path:
    return registry / TRIALS / checkpoint[:16]


def write_repeats(repeats: Repeats, folder: Path) -> Path:
    path = folder / repeats.file
    content = write_record(RepeatsFile(repeats.digest(), repeats))
    with storage_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode(), scratch=folder)
    return path


def load_repeats(path: Path) -> Repeats:
    content = load_json(path, max_bytes=LARGEST_BYTES, what="a file of repeated trials", error=CorruptError)
    file = record_from_json(RepeatsFile, content, where=str(path), error=CorruptError)
    repeats = file.repeats
    if repeats.digest() != file.digest or path.name != repeats.file:
        raise CorruptError(f"{path}: was altered after it was written")
    return repeats


def repeats_of(
    registry: Path, checkpoint: str, evidence: Iterable[Mapping[str, Any]], problems: list[str]
) -> tuple[Repeats, ...]:
    """Return all repeats of a checkpoint and append the errors of unreadable ones to `problems`.

    Repeats may have grown since a decision used them, but the trials of that time must be unchanged.

    Args:
        evidence: entries of earlier decisions.
    """
    folder, by_name = folder_of(registry, checkpoint), dict[str, Repeats]()
    for path in sorted(folder.glob("repeats-*.json")):
        try:
            repeats = load_repeats(path)
            if repeats.checkpoint != checkpoint:
                raise CorruptError(f"{path}: belongs to checkpoint {repeats.checkpoint[:12]}...")
            by_name[path.name] = repeats
        except (TwinloopError, OSError) as error:
            problems.append(str(error))
    for entry in evidence:
        if entry.get("kind") == "repeats":
            repeats = by_name.get(str(entry["path"]))
            if repeats is None:
                problems.append(
                    f"{folder / str(entry['path'])}: was used as evidence before; now it is missing or cannot be read"
                )
            elif repeats.digest(int(entry["trials"])) != entry["digest"]:
                problems.append(
                    f"{folder / repeats.file}: its first {entry['trials']} trials are not those used as evidence before"
                )
    return tuple(by_name.values())


def combined(repeats: Repeats, real: RealEpisodes, evaluations: Sequence[EvaluationEvidence]) -> Combined | str:
    """Combine real trials, their repeats and the evaluations in the same twin, or return why that is not possible."""
    known = {trial.trial: trial for trial in repeats.trials}
    names = trial_names(real)
    if len(set(names)) < len(names):
        return "some trials were recorded at the same time in the same scene, so they cannot be distinguished"
    repeated = [known.get(name) for name in names]
    done = [repeat for repeat in repeated if repeat is not None and repeat.success is not None]
    if len(done) < len(repeated):
        why = next((f": {repeat.why}" for repeat in repeated if repeat is not None and repeat.success is None), "")
        return f"{len(repeated) - len(done)} of {len(repeated)} trials were not repeated in {repeats.config}{why}"
    same = [evidence for evidence in evaluations if evidence.twin == repeats.twin]
    groups = by_twin(evidence for evidence in same if evidence.evaluation.subject.ensemble == repeats.ensemble)
    if not groups:
        return f"no evaluation in {repeats.config} to combine them with"
    unlike = unlike_scenes(repeats, done)
    if unlike:
        return f"the scenes on the robot are distributed unlike those of the evaluation in {repeats.config} ({unlike})"
    rate = groups[0].success
    return combine(
        real.managed, [float(bool(repeat.success)) for repeat in done], np.arange(rate.trials) < rate.successes
    )


def unlike_scenes(repeats: Repeats, trials: Sequence[Repeat]) -> str:
    """Return how the scenes of the trials differ from those the twin's config draws; "" if no difference is shown."""
    from scipy.stats import ks_2samp

    others = sorted({trial.object for trial in trials} - {repeats.object})
    if others:
        return f"objects on the robot: {', '.join(others)}; in the twin: {repeats.object}"
    real_layouts = np.array([trial.layout for trial in trials], float)
    sampled_layouts = np.array(repeats.drawn, float)
    if (
        real_layouts.shape[1:] != (len(LAYOUT),)
        or sampled_layouts.shape[1:] != (len(LAYOUT),)
        or not np.isfinite(real_layouts).all()
    ):
        return "their layouts are unknown"
    differences = []
    for name, real, sampled, near in zip(LAYOUT, real_layouts.T, sampled_layouts.T, FIXED, strict=True):
        if np.ptp(sampled) < near:
            furthest = np.abs(real - sampled.mean()).max()
            if furthest > near:
                differences.append(f"{name} is up to {furthest:.3g} off")
            continue
        p_value = float(ks_2samp(real, sampled).pvalue)  # type: ignore[attr-defined]
        if not p_value >= LEVEL / len(LAYOUT):
            ranges = (
                f"{real.min():.3g} to {real.max():.3g} on the robot, {sampled.min():.3g} to "
                f"{sampled.max():.3g} in the twin"
            )
            differences.append(f"{name}: {ranges}, p = {p_value:.2g}")
    return "; ".join(differences)

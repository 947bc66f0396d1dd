"""EpisodeWeights: a file beside datasets that says how much each episode counts in a training.

Datasets are immutable, so scores and weights are a table of their own. It names each dataset by its digest and has a
digest itself, which the training job and the card of the policy record.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.config.fields import version
from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import json_schema, write_record
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import DatasetError, UsageError
from twinloop.learn.demonstrations import Demonstrations

FORMAT_VERSION = 1
DIGEST = "digest"
MAX_BYTES = 1 << 28


@dataclass(frozen=True)
class DatasetWeights:
    """The weights of the accepted episodes of one dataset.

    Attributes:
        path: name of the dataset's folder, for messages.
        dataset: digest of the dataset.
        attempts: attempt number of each episode.
        scores: worth of each episode; higher is better.
        weights: how often its frames are drawn, relative to other episodes; 0 leaves it out.
    """

    path: str
    dataset: str
    attempts: tuple[int, ...]
    scores: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class EpisodeWeights:
    """Scores and weights of the episodes of one or more datasets.

    Attributes:
        method: how the scores were computed.
        policy: digest of the card of the policy whose gradients were used; empty if none.
        target: digest of each dataset that the scores are about.
        settings: settings of the method.
        datasets: one entry per dataset.
    """

    method: str
    policy: str
    target: tuple[str, ...]
    settings: dict[str, Any]
    datasets: tuple[DatasetWeights, ...]
    format_version: int = version(FORMAT_VERSION)

    @property
    def digest(self) -> str:
        """SHA-256 of the whole table."""
        return hashlib.sha256(json.dumps(write_record(self), sort_keys=True).encode()).hexdigest()

    def write(self, path: Path) -> None:
        content = json.dumps(write_record(self) | {DIGEST: self.digest}) + "\n"
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content.encode(), scratch=path.parent)


def weights_schema() -> dict[str, Any]:
    """JSON Schema of a file of episode weights, which has its digest beside its content."""
    schema = json_schema(EpisodeWeights, title="Twinloop weights of episodes")
    schema["properties"][DIGEST] = {"type": "string", "description": "SHA-256 of the other keys"}
    return {**schema, "required": [*schema["required"], DIGEST]}


def read_episode_weights(path: Path) -> EpisodeWeights:
    """Read and check a file that `twinloop value` wrote."""
    if not path.is_file():
        raise UsageError(f"--weights {path}: is not a file; `twinloop value` writes one")
    values = load_json(path, max_bytes=MAX_BYTES, what="a file of `twinloop value`", error=UsageError)
    written = values.pop(DIGEST, None) if isinstance(values, dict) else None
    table = record_from_json(EpisodeWeights, values, where=str(path), error=UsageError)
    if written != table.digest:
        raise UsageError(f"{path}: was altered: its content has the digest {table.digest[:12]}...; write it again")
    for entry in table.datasets:
        sizes = {len(entry.attempts), len(entry.scores), len(entry.weights)}
        if len(sizes) > 1:
            raise UsageError(f"{path}: {entry.path}: attempts, scores and weights have different lengths")
        if not all(np.isfinite(weight) and weight >= 0 for weight in entry.weights):
            raise UsageError(f"{path}: {entry.path}: weights must be finite numbers of 0 or more")
    return table


def weighted(
    parts: Sequence[Demonstrations], table: EpisodeWeights, *, where: str
) -> tuple[tuple[Demonstrations, ...], tuple[np.ndarray, ...]]:
    """Return the episodes with a positive weight of each dataset, and their weights.

    Args:
        where: the file of the table, for messages.

    Raises:
        UsageError: the table is about another dataset, misses an episode, or leaves a dataset without any.
    """
    entries = {entry.dataset: entry for entry in table.datasets}
    kept, weights = [], []
    for part in parts:
        entry = entries.get(part.source.digest)
        if entry is None:
            known = ", ".join(f"{entry.path} ({entry.dataset[:12]})" for entry in table.datasets)
            raise UsageError(
                f"--weights {where}: has no weights for {part.source.path} ({part.source.digest[:12]}), only for "
                f"{known}; run `twinloop value` on this dataset"
            )
        by_attempt = dict(zip(entry.attempts, entry.weights, strict=True))
        missing = [int(attempt) for attempt in part.attempts if int(attempt) not in by_attempt]
        if missing:
            raise UsageError(
                f"--weights {where}: has no weight for {len(missing)} episodes of {part.source.path}, such as attempt "
                f"{missing[0]}; run `twinloop value` on the whole dataset"
            )
        values = np.array([by_attempt[int(attempt)] for attempt in part.attempts])
        chosen = np.flatnonzero(values > 0)
        if not len(chosen):
            raise UsageError(
                f"--weights {where}: the weights of all {len(values)} episodes of {part.source.path} are 0; raise "
                "--keep of `twinloop value`, or leave this dataset out"
            )
        episodes = part.take(chosen)
        source = replace(part.source, episodes=len(chosen), frames=episodes.frames)
        kept.append(replace(episodes, source=source))
        weights.append(values[chosen])
    return tuple(kept), tuple(weights)


def table_of_scores(
    parts: Sequence[Demonstrations], scores: Sequence[np.ndarray], *, keep: float, method: str, policy: str,
    target: Sequence[str], settings: dict[str, Any],
) -> EpisodeWeights:  # fmt: skip
    """Give weight 1 to the best share `keep` of all episodes together, and 0 to the others."""
    every = np.concatenate(list(scores))
    if not np.isfinite(every).all():
        raise DatasetError(f"{int((~np.isfinite(every)).sum())} of {len(every)} scores are not finite numbers")
    count = max(1, round(keep * len(every)))
    best = np.zeros(len(every), bool)
    best[np.argsort(-every, kind="stable")[:count]] = True
    starts = np.cumsum([len(values) for values in scores])[:-1]
    entries = tuple(
        DatasetWeights(
            path=part.source.path,
            dataset=part.source.digest,
            attempts=tuple(map(int, part.attempts)),
            scores=tuple(float(f"{score:.6g}") for score in values),
            weights=tuple(map(float, chosen)),
        )
        for part, values, chosen in zip(parts, scores, np.split(best, starts), strict=True)
    )
    return EpisodeWeights(method, policy, tuple(target), settings, entries)

"""Attempts: outcomes and draws of all episodes of a dataset, in arrays of bounded size."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import ACCEPTED, current_verdict
from twinloop.dataset import Dataset, ShardEntry

DRAW_PREFIX = "draw/"
MAX_ATTEMPTS = 250_000
"""Maximal length of the arrays; counts are over all attempts. With 30 drawn columns this is 60 MB."""

_PLAIN = ("attempt", "length", "verdict", "success", "duration_s", "last_phase", "failure", "task")


@dataclass(frozen=True)
class Attempts:
    """Arrays with one element per attempt, in order.

    Attributes:
        total: attempts in the dataset; the arrays hold all of them, or those of evenly spaced whole shards.
        outcomes: (verdict, last phase) -> number of attempts, over all attempts.
        failures: name -> number of attempts that failed this way, the most common first.
        tasks: the instructions, the most common first.
        number: (n,) index of the attempt in its run. length: (n,) stored frames, 0 if none are stored.
        accepted, success: (n,) bool. duration_s: (n,), NaN if unknown.
        verdict: (n,) `accepted`, or the check that failed.
        draws: column -> (n,) float64, NaN where an attempt did not draw it. words: names of drawn text columns.
    """

    total: int
    outcomes: Mapping[tuple[str, str], int]
    failures: Mapping[str, int]
    tasks: tuple[str, ...]
    number: np.ndarray
    length: np.ndarray
    accepted: np.ndarray
    success: np.ndarray
    duration_s: np.ndarray
    verdict: np.ndarray
    draws: Mapping[str, np.ndarray]
    words: tuple[str, ...]

    def verdicts(self) -> dict[str, int]:
        """verdict -> number of attempts, over all attempts, the most common first."""
        counts: Counter[str] = Counter()
        for (verdict, _), count in self.outcomes.items():
            counts[verdict] += count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_attempts(dataset: Dataset, *, most: int = MAX_ATTEMPTS) -> Attempts:
    schema = dataset.columns()
    drawn = [field for field in schema if field.name.startswith(DRAW_PREFIX)]
    numeric = [field.name for field in drawn if _is_number(field.type)]
    words = tuple(field.name.removeprefix(DRAW_PREFIX) for field in drawn if field.name not in numeric)
    total = sum(entry.stop - entry.first for entry in dataset.entries)
    step = _shard_step(total, most)
    outcomes: Counter[tuple[str, str]] = Counter()
    failures: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    parts: list[dict[str, np.ndarray]] = []
    # A loop over shards, so that only one is in memory with all its strings.
    for place, entry in enumerate(dataset.entries):
        sampled = place % step == 0
        table = dataset.episodes(entry, [*_PLAIN, *(numeric if sampled else [])])
        verdicts = [current_verdict(verdict) for verdict in table["verdict"].to_pylist()]
        phases = table["last_phase"].to_pylist() if "last_phase" in table.column_names else [""] * len(verdicts)
        outcomes.update((str(verdict), phase or "") for verdict, phase in zip(verdicts, phases, strict=True))
        if "failure" in table.column_names:
            failures.update(name for name in table["failure"].to_pylist() if name)
        tasks.update(table["task"].to_pylist())
        if sampled:
            parts.append(_arrays(table, numeric, dataset.header.fps))
    joined = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
    empty = np.empty(0)
    verdict = joined.get("verdict", np.empty(0, dtype="<U1"))
    return Attempts(
        total=total,
        outcomes=dict(sorted(outcomes.items())),
        failures=dict(sorted(failures.items(), key=lambda item: (-item[1], item[0]))),
        tasks=tuple(sorted(tasks, key=lambda task: (-tasks[task], task))),
        number=joined.get("attempt", empty).astype(np.int64),
        length=joined.get("length", empty).astype(np.int64),
        accepted=verdict == ACCEPTED,
        success=joined.get("success", empty).astype(bool),
        duration_s=joined.get("duration_s", empty),
        verdict=verdict,
        draws={name.removeprefix(DRAW_PREFIX): joined.get(name, empty) for name in numeric},
        words=words,
    )


def entry_of(dataset: Dataset, attempt: int) -> ShardEntry:
    return next(entry for entry in dataset.entries if entry.first <= attempt < entry.stop)


def _shard_step(total: int, most: int) -> int:
    """Whole shards, not every n-th attempt: every 4th point of a Sobol sequence lies in one half of the space."""
    return max(1, -(-total // most))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _arrays(table: pa.Table, numeric: list[str], fps: float) -> dict[str, np.ndarray]:
    rows = table.num_rows
    length = table["length"].to_numpy()
    arrays = {
        "attempt": table["attempt"].to_numpy(),
        "length": length,
        "success": table["success"].to_numpy().astype(bool),
        "verdict": np.array([current_verdict(verdict) for verdict in table["verdict"].to_pylist()], dtype=np.str_),
        # Logs of robots have no duration column.
        "duration_s": np.where(length > 0, length / fps, np.nan),
    }
    if "duration_s" in table.column_names:
        arrays["duration_s"] = table["duration_s"].to_numpy().astype(float)
    for name in numeric:
        known = name in table.column_names
        arrays[name] = table[name].to_numpy().astype(float) if known else np.full(rows, np.nan)
    return arrays

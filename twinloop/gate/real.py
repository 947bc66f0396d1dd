"""Real episodes as evidence: what runlogs say of policies that acted on a robot, verified before it is believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinloop.curate.rates import Rate
from twinloop.dataset import Dataset, dataset_digest, verify
from twinloop.errors import CorruptError, DatasetError, UsageError, nearest

CANDIDATE, CONTROL = "candidate", "control"
OUTCOMES = ("success", "failure", "unknown", "aborted")
SAFETY, CONDITION = "safety/", "condition/"
TEXTS = ("robot_id", "task", "checkpoint", "arm", "outcome", "recorded_at")
NOTED = ("scene", "failure", "speed")
"""Columns that a log may do without."""
INTERRUPTED = "interrupted"
PACE = ("velocity", "acceleration")
"""What the filter does to commands of a robot that is to be slow."""
GRAVE = ("workspace", "force", "non_finite")
COUNTS = ("attempt", "length", "interventions", "deadlines_missed")


@dataclass(frozen=True)
class RealEpisodes:
    """One row an episode, in the order in which they were recorded.

    log: which runlog it is in. attempt: its number there. recorded_at: in UTC, all written alike.
    outcome: one of OUTCOMES. length: control periods. safety: reason -> (n,) periods in which the filter changed the
    command for it. conditions: name -> (n,) what the lab wrote down, "" where nothing. scene: (n,) what was laid out,
    -1 where that was not noted. failure: (n,) its name, "". speed: (n,) share of the robot's, NaN where not noted.
    """

    log: np.ndarray
    attempt: np.ndarray
    recorded_at: np.ndarray
    robot_id: np.ndarray
    task: np.ndarray
    checkpoint: np.ndarray
    arm: np.ndarray
    outcome: np.ndarray
    length: np.ndarray
    interventions: np.ndarray
    deadlines_missed: np.ndarray
    safety: Mapping[str, np.ndarray]
    conditions: Mapping[str, np.ndarray]
    scene: np.ndarray
    failure: np.ndarray
    speed: np.ndarray

    def __len__(self) -> int:
        return len(self.attempt)

    @property
    def managed(self) -> np.ndarray:
        """(n,) whether the policy did it: a success somebody had to help with is not its own, nor one nobody saw."""
        return (self.outcome == "success") & (self.interventions == 0)

    @property
    def interrupted(self) -> np.ndarray:
        """(n,) whoever ran it broke it off: that says nothing of the policy."""
        return self.failure == INTERRUPTED

    @property
    def filtered(self) -> np.ndarray:
        """(n,) control periods in which the filter changed a command: for several reasons at once they count as one.
        Slowing down a robot that is to be slow is not among them."""
        slowed = self.speed < 1
        return self._periods([np.where(slowed & (name in PACE), 0, many) for name, many in self.safety.items()])

    @property
    def grave(self) -> np.ndarray:
        """(n,) control periods in which it kept the robot from leaving its workspace, from pressing on, or from a
        command that was no number. Clipping to the limits of joints is everyday work for it."""
        return self._periods([many for name, many in self.safety.items() if name in GRAVE])

    def _periods(self, reasons: list[np.ndarray]) -> np.ndarray:
        return np.minimum(np.sum(reasons, axis=0), self.length) if reasons else np.zeros(len(self), int)

    @property
    def success(self) -> Rate:
        return Rate(int(self.managed.sum()), len(self))

    def take(self, rows: np.ndarray) -> "RealEpisodes":
        plain = {name: getattr(self, name)[rows] for name in ("log", *NOTED, *TEXTS, *COUNTS)}
        return RealEpisodes(
            **plain,
            safety={name: values[rows] for name, values in self.safety.items()},
            conditions={name: values[rows] for name, values in self.conditions.items()},
        )

    def of(self, checkpoint: str, arm: str | None = None) -> "RealEpisodes":
        """Those of one policy, and of one arm where named."""
        rows = self.checkpoint == checkpoint
        return self.take(rows if arm is None else rows & (self.arm == arm))


@dataclass(frozen=True)
class RunlogEvidence:
    """A verified runlog: its digest is that of `attempts` episodes. robot: the model, as checkpoints name it."""

    path: Path
    robot: str
    digest: str
    attempts: int
    episodes: RealEpisodes

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "runlog", "path": str(self.path), "digest": self.digest, "attempts": self.attempts,
            "rates": self.rates(),
        }  # fmt: skip

    def rates(self) -> list[dict[str, Any]]:
        """How often each policy managed each task on each robot; demonstrations are nobody's."""
        real, rows = self.episodes, []
        groups = dict.fromkeys(zip(real.robot_id, real.task, real.checkpoint, strict=True))
        for robot, task, checkpoint in groups:
            if checkpoint:
                mine = (real.robot_id == robot) & (real.task == task) & (real.checkpoint == checkpoint)
                managed = int(real.managed[mine].sum())
                rows.append({"robot": robot, "task": task, "checkpoint": checkpoint, "managed": managed,
                             "trials": int(mine.sum())})  # fmt: skip
        return rows


def load_runlog(path: Path, *, trusted: bool = False) -> RunlogEvidence:
    """Every file compared with what was committed first; `trusted`: that was done a moment ago."""
    if not trusted:
        verify(path).require()
    dataset = Dataset.open(path)
    if dataset.header.source != "real":
        raise UsageError(f"{path}: is a dataset of kind {dataset.header.source!r}; a runlog of a robot was expected")
    try:
        episodes = _episodes(dataset)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise CorruptError(f"{path}: does not hold real episodes ({error!s:.200})") from None
    return RunlogEvidence(path, dataset.header.robot, dataset.digest(), len(episodes), episodes)


def require_shown(path: Path, *, attempts: int, digest: str) -> None:
    """A runlog that was shown before may have grown; what was there must be there as it was."""
    dataset = Dataset.open(path)
    before = [entry for entry in dataset.entries if entry.stop <= attempts]
    if dataset_digest(dataset.header, before) != digest:
        raise CorruptError(
            f"{path}: its first {attempts} episodes are not those that were shown before; evidence cannot be taken back"
        )


def joined(logs: Sequence[RunlogEvidence]) -> RealEpisodes:
    """All episodes in the order of their recording; one that is in two logs counts once."""
    parts = [log.episodes for log in logs]
    names: dict[str, dict[str, np.ndarray]] = {"safety": {}, "conditions": {}}
    for field in names:
        for name in dict.fromkeys(name for part in parts for name in getattr(part, field)):
            blank = 0 if field == "safety" else ""
            columns = [getattr(part, field).get(name, np.full(len(part), blank)) for part in parts]
            names[field][name] = np.concatenate(columns)
    plain: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) if parts else np.array([])
        for name in (*NOTED, *TEXTS, *COUNTS)
    }
    which = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    whole = RealEpisodes(log=which, **plain, safety=names["safety"], conditions=names["conditions"])
    order = np.lexsort((whole.attempt, whole.log, whole.recorded_at)) if len(whole) else np.arange(0)
    kept: dict[tuple, int] = {}
    rows = []
    for row in order:
        told = (whole.recorded_at, whole.robot_id, whole.checkpoint, whole.scene, whole.length, whole.outcome)
        home = kept.setdefault(tuple(column[row] for column in told), int(whole.log[row]))
        if home == whole.log[row]:
            rows.append(row)
    return whole.take(np.array(rows, int))


def _episodes(dataset: Dataset) -> RealEpisodes:
    table = dataset.attempts()
    for name in (*TEXTS, *COUNTS) if dataset.entries else ():
        if name not in table.column_names:
            raise DatasetError(
                f"{dataset.path}: has no column {name!r}, so it is not known what its episodes show; "
                f"{nearest(name, table.column_names)}"
            )
        if table[name].null_count:
            raise DatasetError(f"{dataset.path}: column {name!r}: is empty for {table[name].null_count} episodes")
    columns = {name: table[name].to_pylist() if name in table.column_names else [] for name in (*TEXTS, *COUNTS)}
    _refuse_words(dataset.path, columns)
    columns["recorded_at"] = [in_utc(moment) for moment in columns["recorded_at"]]
    safety = {
        name.removeprefix(SAFETY): _counts(dataset.path, name, table[name].to_pylist())
        for name in table.column_names if name.startswith(SAFETY)
    }  # fmt: skip
    if dataset.entries and not safety:
        raise DatasetError(f"{dataset.path}: has no column safety/..., so what the safety filter did is not known")
    conditions = {
        name.removeprefix(CONDITION): np.array([each or "" for each in table[name].to_pylist()], object)
        for name in table.column_names if name.startswith(CONDITION)
    }  # fmt: skip
    count = table.num_rows

    def noted(name: str, blank: object) -> list:
        values = table[name].to_pylist() if name in table.column_names else [None] * count
        return [blank if value is None else value for value in values]

    return RealEpisodes(
        log=np.zeros(count, int),
        **{name: np.array(columns[name], object) for name in TEXTS},
        **{name: _counts(dataset.path, name, columns[name]) for name in COUNTS},
        safety=safety,
        conditions=conditions,
        scene=np.array(noted("scene", -1), int),
        failure=np.array(noted("failure", ""), object),
        speed=np.array(noted("setting/speed", np.nan), float),
    )


def _counts(path: Path, name: str, values: Sequence[object]) -> np.ndarray:
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= 0]
    if len(whole) != len(values):
        wrong = next(value for value in values if value not in whole or isinstance(value, (bool, float)))
        raise DatasetError(f"{path}: column {name!r}: holds {wrong!r}; counts were expected")
    return np.array(whole, np.int64)


def in_utc(moment: str) -> str:
    """All alike, so that their order as text is that of time."""
    return datetime.fromisoformat(moment).astimezone(UTC).isoformat(timespec="microseconds")


def _refuse_words(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    for outcome in columns["outcome"]:
        if outcome not in OUTCOMES:
            raise DatasetError(f"{path}: outcome {outcome!r:.80} is unknown; {nearest(str(outcome), OUTCOMES)}")
    for moment in columns["recorded_at"]:
        try:
            known = datetime.fromisoformat(moment).tzinfo is not None
        except (ValueError, TypeError):
            known = False
        if not known:
            raise DatasetError(f"{path}: recorded_at {moment!r:.80}: a time with its zone (ISO 8601) was expected")

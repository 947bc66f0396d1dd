"""RealEpisodes: the episodes of a runlog as columns, for every stage that reads runlogs. `deploy` writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from twinloop.curate.rates import Rate
from twinloop.errors import CorruptError, DatasetError, UsageError, nearest

from .reader import Dataset

CANDIDATE, CONTROL = "candidate", "control"
OutcomeWord = Literal["success", "failure", "unknown", "aborted"]
OUTCOMES: tuple[OutcomeWord, ...] = get_args(OutcomeWord)
SAFETY, CONDITION = "safety/", "condition/"
TEXTS = ("robot_id", "task", "checkpoint", "arm", "outcome", "recorded_at")
COUNTS = ("attempt", "length", "interventions", "deadlines_missed")
NOTED = {
    "scene": ("scene", -1, int),
    "failure": ("failure", "", object),
    "speed": ("setting/speed", np.nan, float),
    "stage": ("gate/stage", "ungated", object),
    "registry": ("gate/registry", "", object),
    "serial": ("robot/serial", "", object),
    "firmware": ("robot/firmware", "", object),
    "fingerprint": ("robot/fingerprint", "", object),
    "simulated": ("robot/simulated", False, bool),
}
"""Columns that a log may leave out: attribute -> (column, value where it is missing, type)."""
OPTIONAL = tuple(NOTED)
INTERRUPTED = "interrupted"
PACE = ("velocity", "acceleration")
"""Reasons for which the safety filter slows down a robot that runs at reduced speed."""
BLOCKING = ("workspace", "force", "non_finite")
"""Reasons for which the safety filter blocks a command."""


@dataclass(frozen=True)
class RealEpisodes:
    """Real episodes, one element per episode, in the order of recording.

    Attributes:
        log: index of the runlog that the episode is in.
        attempt: its number in that runlog.
        recorded_at: ISO 8601 in UTC, all in the same format.
        outcome: one of OUTCOMES.
        length: number of control periods.
        safety: reason -> number of periods in which the filter changed the command for it.
        conditions: name -> value that the operator noted, "" where none.
        scene: number of the prepared layout, -1 where not noted.
        failure: name of the failure, or "".
        speed: share of the robot's speed, NaN where not noted.
        stage: stage of the policy when it acted: canary, production, or ungated.
        registry: id of the registry whose decision allowed the episode; "" where ungated.
        serial, firmware, fingerprint, simulated: how the robot described itself.
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
    stage: np.ndarray
    registry: np.ndarray
    serial: np.ndarray
    firmware: np.ndarray
    fingerprint: np.ndarray
    simulated: np.ndarray

    def __len__(self) -> int:
        return len(self.attempt)

    @property
    def managed(self) -> np.ndarray:
        """(n,) whether the policy succeeded without an intervention."""
        return (self.outcome == "success") & (self.interventions == 0)

    @property
    def interrupted(self) -> np.ndarray:
        """(n,) whether the operator interrupted the episode, which says nothing about the policy."""
        return self.failure == INTERRUPTED

    @property
    def filtered(self) -> np.ndarray:
        """(n,) control periods in which the safety filter changed a command; several reasons in one period count once.

        Slowing down a robot that runs at reduced speed is not counted.
        """
        slowed = self.speed < 1
        return self._periods([np.where(slowed & (name in PACE), 0, periods) for name, periods in self.safety.items()])

    @property
    def blocked(self) -> np.ndarray:
        """(n,) control periods in which the filter blocked a command.

        The command would have left the workspace or pressed on, or it was NaN or infinite. Clipping to joint limits is
        normal and not counted.
        """
        return self._periods([periods for name, periods in self.safety.items() if name in BLOCKING])

    def _periods(self, by_reason: list[np.ndarray]) -> np.ndarray:
        return np.minimum(np.sum(by_reason, axis=0), self.length) if by_reason else np.zeros(len(self), int)

    @property
    def success(self) -> Rate:
        return Rate(int(self.managed.sum()), len(self))

    def take(self, rows: np.ndarray) -> "RealEpisodes":
        """Return the episodes that `rows` selects (indices or a mask)."""
        columns = {name: getattr(self, name)[rows] for name in ("log", *OPTIONAL, *TEXTS, *COUNTS)}
        return RealEpisodes(
            **columns,
            safety={name: values[rows] for name, values in self.safety.items()},
            conditions={name: values[rows] for name, values in self.conditions.items()},
        )

    def of(self, checkpoint: str, arm: str | None = None) -> "RealEpisodes":
        """Return the episodes of one policy, and of one arm if given."""
        rows = self.checkpoint == checkpoint
        return self.take(rows if arm is None else rows & (self.arm == arm))


def real_episodes(dataset: Dataset) -> RealEpisodes:
    """Read the episodes of a runlog.

    Raises:
        UsageError: the dataset does not come from a robot.
        DatasetError: a column is missing or has an impossible value.
    """
    if dataset.header.source != "real":
        raise UsageError(f"{dataset.path}: has source {dataset.header.source!r}; a runlog of a robot was expected")
    try:
        return _read(dataset)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise CorruptError(f"{dataset.path}: does not contain real episodes ({error!s:.200})") from None


def joined(parts: Sequence[RealEpisodes]) -> RealEpisodes:
    """Join runlogs in the order of recording. An episode that is in two logs counts once."""
    mappings: dict[str, dict[str, np.ndarray]] = {"safety": {}, "conditions": {}}
    for field in mappings:
        for name in dict.fromkeys(name for part in parts for name in getattr(part, field)):
            blank = 0 if field == "safety" else ""
            columns = [getattr(part, field).get(name, np.full(len(part), blank)) for part in parts]
            mappings[field][name] = np.concatenate(columns)
    plain: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) if parts else np.array([])
        for name in (*OPTIONAL, *TEXTS, *COUNTS)
    }
    log = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    episodes = RealEpisodes(log=log, **plain, safety=mappings["safety"], conditions=mappings["conditions"])
    order = np.lexsort((episodes.attempt, episodes.log, episodes.recorded_at)) if len(episodes) else np.arange(0)
    identity = ("recorded_at", "robot_id", "checkpoint", "scene", "length", "outcome")
    first_log: dict[tuple, int] = {}
    rows = []
    for row in order:
        key = tuple(getattr(episodes, name)[row] for name in identity)
        if first_log.setdefault(key, int(episodes.log[row])) == episodes.log[row]:
            rows.append(row)
    return episodes.take(np.array(rows, int))


def in_utc(time: str) -> str:
    """Return an ISO 8601 time in UTC in one format, so that text order is time order."""
    return datetime.fromisoformat(time).astimezone(UTC).isoformat(timespec="microseconds")


def _read(dataset: Dataset) -> RealEpisodes:
    table = dataset.attempts()
    for name in (*TEXTS, *COUNTS) if dataset.entries else ():
        if name not in table.column_names:
            raise DatasetError(
                f"{dataset.path}: has no column {name!r}, which a runlog needs; {nearest(name, table.column_names)}"
            )
        if table[name].null_count:
            raise DatasetError(f"{dataset.path}: column {name!r} is empty for {table[name].null_count} episodes")
    columns = {name: table[name].to_pylist() if name in table.column_names else [] for name in (*TEXTS, *COUNTS)}
    _check_values(dataset.path, columns)
    columns["recorded_at"] = [in_utc(time) for time in columns["recorded_at"]]
    safety = {
        name.removeprefix(SAFETY): _counts(dataset.path, name, table[name].to_pylist())
        for name in table.column_names if name.startswith(SAFETY)
    }  # fmt: skip
    if dataset.entries and not safety:
        raise DatasetError(f"{dataset.path}: has no column safety/..., so the safety filter's activity is unknown")
    conditions = {
        name.removeprefix(CONDITION): np.array([value or "" for value in table[name].to_pylist()], object)
        for name in table.column_names if name.startswith(CONDITION)
    }  # fmt: skip
    count = table.num_rows

    def optional(name: str, blank: object) -> list:
        values = table[name].to_pylist() if name in table.column_names else [None] * count
        return [blank if value is None else value for value in values]

    return RealEpisodes(
        log=np.zeros(count, int),
        **{name: np.array(columns[name], object) for name in TEXTS},
        **{name: _counts(dataset.path, name, columns[name]) for name in COUNTS},
        safety=safety,
        conditions=conditions,
        **{name: np.array(optional(column, blank), kind) for name, (column, blank, kind) in NOTED.items()},
    )


def _counts(path: Path, name: str, values: Sequence[object]) -> np.ndarray:
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise DatasetError(f"{path}: column {name!r} contains {value!r}; a count was expected")
    return np.array(values, np.int64)


def _check_values(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    for outcome in columns["outcome"]:
        if outcome not in OUTCOMES:
            raise DatasetError(f"{path}: outcome {outcome!r:.80} is unknown; {nearest(str(outcome), OUTCOMES)}")
    for time in columns["recorded_at"]:
        try:
            has_zone = datetime.fromisoformat(time).tzinfo is not None
        except (ValueError, TypeError):
            has_zone = False
        if not has_zone:
            raise DatasetError(f"{path}: recorded_at {time!r:.80}: a time with a time zone (ISO 8601) was expected")

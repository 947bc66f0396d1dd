"""Tally: statistics of one policy's episodes on a robot, counted from a runlog's attempts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from twinloop.curate.intervals import wilson
from twinloop.deploy.episode_log import SAFETY

CONDITION = "condition/"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Share:
    """Success rate: `successes` among `trials`, as the gate counts: every episode is a trial, also an aborted one, and
    only one without an intervention is a success."""

    successes: int
    trials: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson 95 % confidence interval."""
        low, high = wilson(self.successes, self.trials)
        return float(low), float(high)

    def to_json(self) -> dict[str, Any]:
        rate = self.successes / self.trials if self.trials else None
        return {"successes": self.successes, "trials": self.trials, "rate": rate, "interval": list(self.interval)}


@dataclass(frozen=True)
class Tally:
    """Statistics of one policy's episodes.

    Attributes:
        episodes: number of all episodes.
        success: success rate over all episodes.
        unknown: number of episodes with unknown outcome.
        aborted, failures: name -> number of episodes.
        conditions: name -> value -> success rate under this condition.
        safety: reason -> (episodes, control periods) in which the safety filter changed a command.
        late: missed deadlines, among `periods` control periods.
        robot_s: total duration of the episodes.
    """

    arm: str
    policy: str
    checkpoint: str
    episodes: int
    success: Share
    unknown: int
    aborted: Mapping[str, int]
    failures: Mapping[str, int]
    conditions: Mapping[str, Mapping[str, Share]]
    safety: Mapping[str, tuple[int, int]]
    late: int
    periods: int
    robot_s: float
    interventions: int

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "success": self.success.to_json(),
            "conditions": {
                name: {value: share.to_json() for value, share in values.items()}
                for name, values in self.conditions.items()
            },
            "safety": {
                reason: {"episodes": episodes, "periods": periods}
                for reason, (episodes, periods) in self.safety.items()
            },
        }


def tally(rows: Iterable[Row]) -> Tally:
    """Return the tally of one policy's episodes; there must be at least one."""
    rows = list(rows)
    aborted = Counter(str(row["failure"]) for row in rows if row["outcome"] == "aborted")
    failures = Counter(str(row["failure"]) for row in rows if row["outcome"] == "failure")
    names = sorted({name for row in rows for name in row if name.startswith(CONDITION)})
    conditions = {}
    for name in names:
        values = sorted({str(row[name]) for row in rows if row.get(name) is not None})
        conditions[name.removeprefix(CONDITION)] = {
            value: _share(row for row in rows if row.get(name) == value) for value in values
        }
    counts = {reason: [int(row.get(f"safety/{reason}") or 0) for row in rows] for reason in SAFETY}
    return Tally(
        arm=str(rows[0]["arm"]),
        policy=str(rows[0].get("policy") or ""),
        checkpoint=str(rows[0]["checkpoint"]),
        episodes=len(rows),
        success=_share(rows),
        unknown=sum(row["outcome"] == "unknown" for row in rows),
        aborted=dict(aborted.most_common()),
        failures=dict(failures.most_common()),
        conditions=conditions,
        safety={reason: (sum(periods > 0 for periods in count), sum(count)) for reason, count in counts.items()},
        late=sum(int(row["deadlines_missed"]) for row in rows),
        periods=sum(int(row["length"]) for row in rows),
        robot_s=sum(float(row["duration_s"]) for row in rows),
        interventions=sum(int(row["interventions"]) for row in rows),
    )


def _share(rows: Iterable[Row]) -> Share:
    managed = [is_success(row) for row in rows]
    return Share(sum(managed), len(managed))


def is_success(row: Row) -> bool:
    """Whether the policy succeeded without help; the same as `RealEpisodes.managed`."""
    return row["outcome"] == "success" and not row["interventions"]

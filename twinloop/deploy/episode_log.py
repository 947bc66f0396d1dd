"""EpisodeLog: one episode on a robot, by a policy or a demonstrator: its frames, outcome and metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from twinloop.curate.verdict import ACCEPTED, TASK_FAILED
from twinloop.dataset.real_episodes import OutcomeWord
from twinloop.deploy.robot import Briefing, Description
from twinloop.observe.recording import Feature

OutcomeBy = Literal["detector", "human", ""]

SAFETY = ("position", "velocity", "acceleration", "effort", "workspace", "non_finite", "force")
"""Reasons for which the safety filter changes a command."""

TIMING = Feature("timing", "float32", (4,), ("robot_s", "waited_s", "thought_s", "late"), "s; s; s; 1")
"""robot_s: time on the robot's clock since the start of the episode. waited_s: age of the reading. thought_s: time that
the leader took for the action. late: 1 if the deadline was missed."""

BY_HUMAN = Feature("by_human", "bool", (1,))
"""Whether a human chose the action of the frame: a demonstration by teleoperation, or a takeover."""

ABORTED = "aborted"


@dataclass(frozen=True)
class EpisodeLog:
    """One episode on a robot.

    Attributes:
        frames: feature -> (n, *shape); images are bytes (n, height, width, 3). `next.*` may be left out. `action` is
            the intended action, `command` the output of the safety filter.
        scene: the scene number that the robot was given.
        verdict: the name of a failed quality check, or "": then it follows from the outcome.
        checkpoint: digest of the policy's card, "" for demonstrations.
        arm: "", "candidate" or "control".
        safety: reason -> control periods in which the filter changed the command for this reason.
        participant: a pseudonym, or "".
        recorded_at: end of the episode, ISO 8601 in UTC.
        columns: further columns, as `kind/name` -> value.
    """

    robot_id: str
    briefing: Briefing
    frames: Mapping[str, np.ndarray]
    outcome: OutcomeWord
    recorded_at: str
    outcome_by: OutcomeBy = ""
    outcome_detail: str = ""
    scene: int = 0
    last_phase: str = ""
    failure: str = ""
    verdict: str = ""
    checkpoint: str = ""
    arm: str = ""
    interventions: int = 0
    safety: Mapping[str, int] = field(default_factory=dict)
    deadlines_missed: int = 0
    participant: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return len(self.frames["action"])

    @property
    def judged(self) -> str:
        """The verdict: `accepted` if the episode can be used as a demonstration."""
        if self.outcome == "aborted":
            return ABORTED
        return self.verdict or (ACCEPTED if self.outcome == "success" else TASK_FAILED)

    def attempt_columns(self, attempt: int, *, fps: float) -> dict[str, str | int | float | bool]:
        """Return the episode's row of `attempts`: everything that is stored except the frames."""
        return {
            "attempt": attempt,
            "task": self.briefing.instruction,
            "length": self.length,
            "verdict": self.judged,
            "success": self.outcome == "success",
            "robot_id": self.robot_id,
            "scene": self.scene,
            "outcome": self.outcome,
            "outcome_by": self.outcome_by,
            "outcome_detail": self.outcome_detail,
            "duration_s": self.length / fps,
            "last_phase": self.last_phase,
            "failure": self.failure,
            "checkpoint": self.checkpoint,
            "arm": self.arm,
            "interventions": self.interventions,
            **{f"safety/{reason}": int(self.safety.get(reason, 0)) for reason in SAFETY},
            "deadlines_missed": self.deadlines_missed,
            **{f"condition/{name}": value for name, value in sorted(self.briefing.conditions.items())},
            "participant": self.participant,
            "recorded_at": self.recorded_at,
            **{f"version/{name}": value for name, value in sorted(self.versions.items())},
            **self.columns,
        }


def logged_features(about: Description) -> tuple[Feature, ...]:
    """Return the features of every logged frame of this robot."""
    columns = tuple(feature for feature in about.observed if not feature.is_picture)
    pictures = tuple(feature for feature in about.observed if feature.is_picture)
    command = Feature("command", about.action.dtype, about.action.shape, about.action.names, about.action.unit)
    return (
        *columns,
        about.action,
        command,
        Feature("phase", "int64", (1,)),
        TIMING,
        BY_HUMAN,
        Feature("next.reward", "float32", (1,)),
        Feature("next.done", "bool", (1,)),
        Feature("next.success", "bool", (1,)),
        *pictures,
    )

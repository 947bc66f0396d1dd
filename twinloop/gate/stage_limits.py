"""StageLimits: what a stage allows, written into the decision that brings a policy there."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from twinloop.gate.case import Case
from twinloop.gate.robot_identity import RobotIdentity

PERMIT = "permit"
"""Key of a record's details that holds its limits."""


@dataclass(frozen=True)
class StageLimits:
    """The limits of a stage, written into the decision that brings a policy there.

    Attributes:
        speed: maximum share of the robot's speed.
        force_n: maximum force at the wrist.
        margin_m: distance from the walls of the workspace.
        attended: on hardware, an operator must be at the terminal.
        episodes: maximum number of episodes under the decision.
        expires: ISO 8601, UTC.
        robots: the robots that the evidence is about.
        twins: digests of the configs that the policy was evaluated in.
    """

    speed: float
    force_n: float
    margin_m: float
    attended: bool
    episodes: int
    expires: str
    robots: tuple[RobotIdentity, ...]
    twins: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "speed": self.speed, "force_n": self.force_n, "margin_m": self.margin_m, "attended": self.attended,
            "episodes": self.episodes, "expires": self.expires, "robots": [robot.to_json() for robot in self.robots],
            "twins": list(self.twins),
        }  # fmt: skip

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "StageLimits":
        return cls(
            speed=float(values["speed"]), force_n=float(values["force_n"]), margin_m=float(values["margin_m"]),
            attended=values["attended"] is not False, episodes=int(values["episodes"]),
            expires=str(values["expires"]), robots=tuple(map(RobotIdentity.from_json, values["robots"])),
            twins=tuple(map(str, values["twins"])),
        )  # fmt: skip


def limits_for(case: Case, to: str, *, now: datetime | None = None) -> StageLimits | None:
    """The limits that a promotion to stage `to` grants; None for a stage that no robot runs."""
    twins = tuple(evaluated.twin for evaluated in case.twins)
    if to == "canary":
        rules, trials = case.rules.canary, case.canary
        return StageLimits(
            speed=min(rules.speed, trials.speed) if trials else rules.speed,
            force_n=rules.force_n,
            margin_m=rules.margin_m,
            attended=rules.attended,
            episodes=min(rules.episodes, trials.episodes) if trials else rules.episodes,
            expires=expiry(rules.days, now),
            robots=(trials.identity,) if trials and trials.identity is not None else (),
            twins=twins,
        )
    if to == "production":
        rules = case.rules.production
        return StageLimits(
            rules.speed,
            rules.force_n,
            0.0,
            rules.attended,
            rules.episodes,
            expiry(rules.days, now),
            _robots_of_trials(case),
            twins,
        )
    return None


def expiry(days: int, now: datetime | None = None) -> str:
    return ((now or datetime.now(UTC)) + timedelta(days=days)).isoformat(timespec="seconds")


def _robots_of_trials(case: Case) -> tuple[RobotIdentity, ...]:
    """The robots that the candidate's trials ran on, as they described themselves in the last trial."""
    episodes = case.episodes.of(case.digest)
    model = case.checkpoint.card.space.robot
    last = {
        str(robot): int(np.flatnonzero(episodes.robot_id == robot)[-1]) for robot in dict.fromkeys(episodes.robot_id)
    }
    return tuple(
        RobotIdentity(
            robot, model, str(episodes.serial[row]), str(episodes.firmware[row]), str(episodes.fingerprint[row]),
            bool(episodes.simulated[row]),
        )
        for robot, row in last.items()
    )  # fmt: skip

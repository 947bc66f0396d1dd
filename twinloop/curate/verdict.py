"""Verdicts: whether episodes may become training data and, if not, what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

ACCEPTED = "accepted"
TASK_FAILED = "task_failed"
"""The verdict on an episode that is plausible and did not succeed, simulated or real."""
TOO_LONG = "too_long"
"""The verdict on an episode that took too long and is plausible otherwise."""
UNREACHABLE = "unreachable"
"""The verdict on a draw with a pose that the robot cannot reach. It is not simulated."""
FORGOTTEN = "forgotten"
"""The verdict on an attempt whose participant withdrew consent. Nothing else of it is stored."""

OLD_NAMES = {
    "success": TASK_FAILED,
    "divergence": "diverged",
    "workspace": "left_workspace",
    "person_force": "person_pushed",
    "penetration": "deep_penetration",
    "contact_force": "hard_contact",
    "joint_position": "joint_limit",
    "joint_velocity": "velocity_limit",
    "joint_torque": "torque_limit",
    "duration": TOO_LONG,
}
"""Verdicts and `check/` columns of datasets written by twinloop 0.1.0 -> their present names."""


def current_verdict(verdict: str) -> str:
    """The present name of a verdict that may come from an older dataset."""
    return OLD_NAMES.get(verdict, verdict)


@dataclass(frozen=True)
class Verdicts:
    """One verdict per episode.

    Attributes:
        reasons: "accepted", or the name of the first check that failed.
        failures: name of the task failure, "" for a success.
        storable: (n,) bool; false if the rows may not be stored even with `--keep-rejected` (a diverged simulation).
        measures: check name -> (n,) float64, the quantity that the check compared with its limit.
    """

    reasons: tuple[str, ...]
    failures: tuple[str, ...]
    storable: np.ndarray
    measures: Mapping[str, np.ndarray]

    @property
    def accepted(self) -> np.ndarray:
        return np.array([reason == ACCEPTED for reason in self.reasons], dtype=bool)

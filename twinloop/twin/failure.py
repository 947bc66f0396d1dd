"""Failure: why an attempt did not succeed, in a word that can be counted.

A task lists its failures in order; the first that holds is the name. They are told from what happened to the object and
the hand, not from the script of who moved the robot, so a policy's failures are named like an expert's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EpisodeSummary:
    """How n episodes went, one row each.

    touched: a finger has pressed on the object; gripped: both at once, closing. lifted: it has left the table.
    fell: it went over the table's edge.
    holding: both fingers press at the end, and whoever moved them has not given the object up.
    released_s: when the gripper was last told to let go of what it held; infinite for never.
    ended_s: how long the episode took. drawn: the draw, column -> (n,).
    """

    touched: np.ndarray
    gripped: np.ndarray
    lifted: np.ndarray
    fell: np.ndarray
    holding: np.ndarray
    released_s: np.ndarray
    ended_s: np.ndarray
    drawn: Mapping[str, np.ndarray]

    @property
    def released(self) -> np.ndarray:
        return np.isfinite(self.released_s)


@dataclass(frozen=True)
class Failure:
    """means: what happened, in words. holds: Ending -> (n,) bool."""

    name: str
    means: str
    holds: Callable[[EpisodeSummary], np.ndarray]


NEVER_REACHED = Failure("never_reached", "no finger touched the object", lambda end: ~end.touched)
NEVER_GRASPED = Failure("never_grasped", "the fingers never held it", lambda end: ~end.gripped)
FELL_OFF_TABLE = Failure("fell_off_table", "it went over the edge", lambda end: end.fell)
DROPPED_IN_LIFT = Failure(
    "dropped_in_lift", "it slipped before it left the table", lambda end: ~end.holding & ~end.released & ~end.lifted
)
DROPPED_IN_TRANSFER = Failure("dropped_in_transfer", "it was lost on the way", lambda end: ~end.holding & ~end.released)
MISSED_GOAL = Failure("missed_goal", "it was put down elsewhere", lambda end: end.released)

COMMON = (FELL_OFF_TABLE, NEVER_REACHED, NEVER_GRASPED, DROPPED_IN_LIFT, DROPPED_IN_TRANSFER, MISSED_GOAL)
"""Of tasks that take an object somewhere."""

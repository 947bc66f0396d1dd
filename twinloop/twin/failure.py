"""Failure: the named reason why an attempt did not succeed.

A task lists its failures in order, and the first that holds is given. They are determined from the object and the
hand, not from the actor's script, so failures of a policy and of an expert have the same names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EpisodeSummary:
    """Summary of n episodes, one row each.

    Attributes:
        touched: a finger has pressed on the object.
        gripped: both fingers have pressed at once while closing, in two frames in a row.
        lifted: the object has left the table.
        fell: the object fell over the table's edge.
        holding: both fingers press at the end, and the actor has not given up the object.
        released_s: time of the last command to release a held object; infinite if there was none.
        ended_s: duration of the episode.
        drawn: the draw, column -> (n,).
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
    """A named failure.

    Attributes:
        means: what happened, in words.
        holds: EpisodeSummary -> (n,) bool.
    """

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
"""Failures of tasks that move an object to a goal."""

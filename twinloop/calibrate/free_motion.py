"""Parts of runlogs in which the hand holds nothing.

The mass of a held object is not known, and its weight would be fitted as softness or friction of the joints. A gripper
that cannot reach its commanded opening holds something, or is still moving. Those frames and the ones just after them
are cut out. What is left is compared as logs of their own, each from its own first frame.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from twinloop.calibrate.logs import Log
from twinloop.errors import DatasetError
from twinloop.twin.robot import Robot

BLOCKED_SHARE = 0.08
"""A gripper is not where it was commanded if it is off by more than this share of its stroke."""
AFTER_S = 0.2
LEAST_S = 0.8


def free_motion(logs: Sequence[Log], robot: Robot, *, state: str, command: str, gripper: str) -> list[Log]:
    """The parts of at least LEAST_S in which the hand holds nothing. A log without such a frame stays out.

    Args:
        state, command: columns with the measured and the commanded opening.
        gripper: the element of the opening in both.
    """
    stroke = abs(robot.gripper.open - robot.gripper.closed)
    parts: list[Log] = []
    for log in logs:
        opening, commanded = (_element(log, column, gripper) for column in (state, command))
        blocked = np.abs(opening - commanded) > BLOCKED_SHARE * stroke
        since = np.where(blocked, log.time_s, -np.inf)
        free = ~blocked & (log.time_s - np.maximum.accumulate(since) > AFTER_S)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(int)))
        for number, (first, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
            if log.time_s[stop - 1] - log.time_s[first] >= LEAST_S:
                part = log.select(slice(int(first), int(stop)))
                parts.append(replace(part, name=log.name if free.all() else f"{log.name}.{number}"))
    if not parts:
        raise DatasetError(
            f"in these {len(logs)} episodes the hand is never empty for {LEAST_S:g} s, and what it holds has an "
            "unknown mass; record free motion with `twinloop excite`"
        )
    return parts


def _element(log: Log, column: str, name: str) -> np.ndarray:
    names = log.names.get(column, ())
    return log.columns[column][:, names.index(name)] if name in names else np.zeros(len(log))

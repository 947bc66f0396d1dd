"""Episodes: the true states of simulated episodes in every control period, before sensors and cameras."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.twin.touch import PARTS as TOUCHED
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Episodes:
    """The episodes of a block of draws, in the order of the block, back to back.

    Attributes:
        lengths: (n,) number of control periods of each episode.
        tape: (lengths.sum(), channels) float32, one row per control period.
        channels: channel name -> its columns in `tape`.
        success: (n,) whether the final state fulfils the task.
        lost: (n,) whether the actor gave up.
        diverged: (n,) whether the physics is invalid. The tape up to then is kept for debugging, never as data.
        retries: (n,) number of grasps that were started again.
        unreachable: (n,) number of key poses out of the robot's reach. Such an episode was not simulated.
        unmet: (n,) number of the task's first relation that did not hold at the end; -1 if all held.
    """

    draws: Draws
    channels: Mapping[str, slice]
    lengths: np.ndarray
    tape: np.ndarray
    success: np.ndarray
    lost: np.ndarray
    diverged: np.ndarray
    retries: np.ndarray
    unmet: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    unreachable: np.ndarray = field(default_factory=lambda: np.zeros(0, int))

    def __getitem__(self, channel: str) -> np.ndarray:
        return self.tape[:, self.channels[channel]]

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def worst(self, values: np.ndarray) -> np.ndarray:
        """(n,) maximum of (frames,) values in each episode; 0 for an episode without frames."""
        out = np.zeros(len(self.lengths))
        some = self.lengths > 0
        if some.any():
            out[some] = np.maximum.reduceat(values, self.starts[some])
        return out


def channels_of(twin: Twin) -> dict[str, slice]:
    arms = len(twin.arms)
    joints = twin.joints + arms
    widths = {
        "position": joints,
        "velocity": joints,
        "effort": joints,
        "environment": twin.environment_size,
        "action": joints,
        "command": joints,
        "contact": 2 * arms + 1,
        "phase": 1,
        "reward": 1,
        "success": 1,
        "penetration": 1,
        "hardest_contact": 1,
        "object_velocity": 3 * len(twin.things),
    }
    if twin.has_person:
        widths |= {"person_force": 1}
    if twin.has_wrist_sensors:
        widths |= {"wrench": 6 * arms, "inertial": 6 * arms}
    if twin.has_touch:
        widths |= {"touch": len(TOUCHED) * arms}
    corners = sum(index.soft.qpos.size for index in twin.things if index.soft is not None)
    if corners:
        widths |= {"nodes": corners}
    edges = np.cumsum([0, *widths.values()])
    return {name: slice(int(a), int(b)) for name, a, b in zip(widths, edges, edges[1:], strict=False)}

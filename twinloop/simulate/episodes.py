"""Episodes: what happened in some simulations, every control period, before anybody looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.twin.touch import PARTS as TOUCHED
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Episodes:
    """The episodes of a block of draws, in its order, back to back.

    lengths: (n,) control periods in each.
    tape: (lengths.sum(), channels) float32; `channels` says which columns are what.
    success: (n,) the task's judgement of the final state. `lost`: the actor gave up. `diverged`: the physics
        cannot be trusted; the tape up to then is kept for whoever looks into it, never as data.
    """

    draws: Draws
    channels: Mapping[str, slice]
    lengths: np.ndarray
    tape: np.ndarray
    success: np.ndarray
    lost: np.ndarray
    diverged: np.ndarray
    retries: np.ndarray

    def __getitem__(self, channel: str) -> np.ndarray:
        return self.tape[:, self.channels[channel]]

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def worst(self, values: np.ndarray) -> np.ndarray:
        """(n,) the largest of (frames,) values in each episode; 0 for one without frames."""
        out = np.zeros(len(self.lengths))
        some = self.lengths > 0
        if some.any():
            out[some] = np.maximum.reduceat(values, self.starts[some])
        return out


def channels_of(twin: Twin) -> dict[str, slice]:
    joints = len(twin.arm_joints) + 1
    widths = {
        "position": joints,
        "velocity": joints,
        "effort": joints,
        "environment": 14,
        "action": joints,
        "command": joints,
        "contact": 3,
        "phase": 1,
        "reward": 1,
        "success": 1,
        "penetration": 1,
        "hardest_contact": 1,
        "object_velocity": 3,
    }
    if twin.has_person:
        widths |= {"person_force": 1}
    if twin.has_wrist_sensors:
        widths |= {"wrench": 6, "inertial": 6}
    if twin.touch is not None:
        widths |= {"touch": len(TOUCHED)}
    if twin.soft is not None:
        widths |= {"nodes": twin.soft.qpos.size}
    edges = np.cumsum([0, *widths.values()])
    return {name: slice(int(a), int(b)) for name, a, b in zip(widths, edges, edges[1:], strict=False)}

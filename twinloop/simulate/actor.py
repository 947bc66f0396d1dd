"""Actor: whoever moves the robot. The scripted expert is one, a trained policy another."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.simulate.cell import Cell


@dataclass(frozen=True)
class SlotActions:
    """What the actor does in every slot during the next control period.

    arm_rad, opening: what it intends: the action that is recorded for a policy to imitate.
    command_rad, command_opening: what the motors are given, injected noise and slips included.
    phase: (width,) index into the task's phases.
    over: (width,) the episode has ended; nothing is commanded any more. `lost` of these: the object was
        dropped for good, or a phase took too long.
    retries: (width,) grasps begun again so far.
    """

    arm_rad: np.ndarray
    opening: np.ndarray
    command_rad: np.ndarray
    command_opening: np.ndarray
    phase: np.ndarray
    over: np.ndarray
    lost: np.ndarray
    retries: np.ndarray


class Actor(Protocol):
    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Episodes `rows` of `draws` have been admitted to slots `ids`."""
        ...

    def act(self, cell: Cell) -> SlotActions: ...

"""Actor: computes the robot's actions. The scripted expert and a trained policy are actors."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.simulate.cell import Cell


@dataclass(frozen=True)
class SlotActions:
    """Actions of all slots for the next control period.

    Attributes:
        arm_rad, opening: the intended action, (width, joints of all arms) and (width, arms). It is recorded, and a
            policy imitates it.
        command_rad, command_opening: the command to the motors, with injected noise and slips.
        phase: (width,) index into the task's phases.
        over: (width,) True if the episode has ended. Its command is not carried out.
        lost: (width,) True if the episode ended because the object was dropped for good or a phase took too long.
        retries: (width,) number of grasps that were started again so far.
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
        """Reset the slots `ids`, which now hold the episodes `rows` of `draws`."""
        ...

    def act(self, cell: Cell) -> SlotActions: ...

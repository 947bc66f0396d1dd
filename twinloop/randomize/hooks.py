"""Hooks: how a row acts, besides writing model fields at the start of an episode.

The stages of the simulation call these functions and know no row by name. A function is called only while some episode
varies its row, so other rows cost nothing. All arrays have one row per slot of the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from twinloop.twin.twin import Twin


class Rows(Protocol):
    """The per-simulation model fields of a batch: `rows["body_mass"]` is (simulations, bodies)."""

    @property
    def twin(self) -> Twin: ...

    def __getitem__(self, field: str) -> np.ndarray: ...


CommandStage = Literal["bus", "setpoint", "gear", "joint", "play", "motor"]
COMMAND_STAGES: tuple[CommandStage, ...] = get_args(CommandStage)
"""In the order of the signal. Functions of one stage are called in the order of the table."""


class Command(Protocol):
    """The commands of all slots in one control period, on their way from the actor to the servos.

    Attributes:
        rad: (slots, joints) the command at this stage. A function may replace it.
        tick: (slots,) control periods since the episode began.
        effort_nm: (slots, joints) present torque of the motors.
        noise: (slots, joints, 2) standard normal numbers of this period; chance: (slots,) uniform ones. They are those
            of the built-in rows. A row of another package uses `white`.
        phase_rad, warmth: (slots, joints) uniform numbers of the episode, from 0 to 2 pi and from 0 to 1.
        fields: the model fields.
    """

    rad: np.ndarray
    tick: np.ndarray
    effort_nm: np.ndarray
    noise: np.ndarray
    chance: np.ndarray
    phase_rad: np.ndarray
    warmth: np.ndarray

    @property
    def twin(self) -> Twin: ...

    @property
    def fields(self) -> Rows: ...

    def shift_mrad(self, offset: np.ndarray) -> None:
        """Add (slots, joints) to the targets. Offsets of all rows are added up before the stage "play"."""
        ...

    def white(self, stream: str) -> np.ndarray:
        """(slots, joints) standard normal numbers of this period, from a stream of the row's own."""
        ...

    def memory(self, name: str, initial: np.ndarray) -> np.ndarray:
        """(slots, ...) what `remember` has stored under a name; `initial` in the first period of an episode."""
        ...

    def remember(self, name: str, values: np.ndarray) -> None: ...


@dataclass(frozen=True)
class OnCommand:
    """A function that changes commands.

    Attributes:
        at: the stage of the signal at which it acts.
        act: (command, values) changes the command, for (slots,) or (slots, elements) values of the row.
    """

    at: CommandStage
    act: Callable[[Command, np.ndarray], None]

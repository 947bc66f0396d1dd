"""Hooks: how a row acts, besides writing model fields at the start of an episode.

The stages of the simulation call these functions and know no row by name. A function is called only while some episode
varies its row, so other rows cost nothing. All arrays have one row per slot of the batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from twinloop.twin.scene import Start
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


Signal = Literal["observed", "tracked"]
"""All sensors of the robot, or the tracker of things."""
Channel = Literal[
    "position", "velocity", "effort", "wrench", "inertial", "touch", "tracker", "tracker_turn", "attitude", "wheel",
    "heading", "lidar", "lidar_yaw",
]  # fmt: skip
"""Position, velocity and effort are those of the driven joints. `inertial` is the IMU of a hand or of a free base, and
`attitude` is a rotation vector of that base. `wheel` is the turn of each wheel in a control period, `heading` that of
the odometry, and `lidar_yaw` the direction of the lidar. Offsets are in SI units, except `OFFSET_UNITS`."""
OFFSET_UNITS: Mapping[str, float] = {"position": 1e-3, "tracker": 1e-3}  # mrad, mm


class Readings(Protocol):
    """The sensor errors of one episode, for every control period. They are drawn before the episode begins.

    A reading is delayed (while it is lost, the last one is repeated), multiplied by a gain, gets an offset, becomes 0
    below a threshold, and is rounded to a step. Arrays are (frames,) or (frames, elements), or one number for all.

    Attributes:
        frames: control periods of the longest possible episode.
        noise: random numbers of the built-in rows. A row of another package uses `rng`.
    """

    frames: int
    noise: Mapping[str, np.ndarray]

    @property
    def twin(self) -> Twin: ...

    @property
    def seconds(self) -> np.ndarray:
        """(frames, 1) time since the episode began."""
        ...

    def rng(self, stream: str) -> np.random.Generator:
        """A generator of this episode for a stream of the row's own."""
        ...

    def delay_ms(self, signal: Signal, delay_ms: float) -> None: ...

    def lose(self, signal: Signal, lost: np.ndarray) -> None:
        """Repeat the last reading in the (frames,) that are lost."""
        ...

    def add(self, channel: Channel, offset: np.ndarray, elements: slice = slice(None)) -> None: ...

    def multiply(self, channel: Channel, gain: np.ndarray) -> None: ...

    def threshold(self, channel: Channel, least: float) -> None: ...

    def round(self, channel: Channel, step: float) -> None: ...

    def silence(self, channel: Channel, dead: np.ndarray) -> None:
        """Make the (elements,) or (frames, elements) that are dead read 0, and rays of a lidar the longest distance."""
        ...


OnReading = Callable[[Readings, np.ndarray], None]
"""(readings, values) adds errors to the sensors of one episode, for a number or (elements,) values of the row."""

OnStart = Callable[[Start, np.ndarray], None]
"""(start, values) changes the (n, 7) poses of n episodes in place, for (n,) or (n, elements) values of the row."""


class BaseMotion(Protocol):
    """The free bases of all slots in one control period.

    Attributes:
        tick: (slots,) control periods since the episode began.
        velocity_m_s: (slots, 3) of the base, in the world. A function may change it in place.
        chance: (slots,) uniform numbers of the episode.
    """

    tick: np.ndarray
    velocity_m_s: np.ndarray
    chance: np.ndarray

    @property
    def control_period_s(self) -> float: ...


OnBase = Callable[[BaseMotion, np.ndarray], None]
"""(motion, values) changes the motion of the bases, for (slots,) or (slots, elements) values of the row."""

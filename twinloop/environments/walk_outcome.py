"""WalkOutcome: how episodes of walking go: velocity errors, falls, and the names of failures."""

import numpy as np

from twinloop.environments.walk_commands import WalkCommands
from twinloop.simulate.walk_cell import WalkCell

FALLEN_TILT = 0.5
"""Cosine of the tilt beyond which a robot has fallen: 60 degrees."""
CONTACT_N = 1.0
SLIP_M_S, SLIP_MEMORY_S, SLIPPED_M = 0.4, 0.6, 0.12
"""A loaded foot that moves faster than this slips. A fall within this time after this distance is called a slip."""
TRIP_MEMORY_S = 0.6
"""A fall within this time after a shin has touched something, or a foot has hit a step, is called a trip."""
BUMP_M_S = 0.3
"""A swinging foot that loses this speed at a contact has hit a step."""
STUCK_S, STUCK_SHARE, COMMANDED_M_S = 4.0, 0.2, 0.3
"""A robot that covers less than this share of the commanded distance in this time is stuck."""


class WalkOutcome:
    """Events of the present episode of every slot.

    Attributes:
        fallen: (width,) tilted by more than 60 degrees, too low, or with the trunk on the ground.
        collided: (width,) the trunk touches rough or stepped ground while the robot is upright and high.
        slipped, tripped: (width,) fallen shortly after a foot slid, or after a shin or foot hit something.
        stuck: (width,) hardly moved for `STUCK_S` despite a command to move.
        velocity_error_m_s: (width,) mean error of the horizontal velocity so far.
        turn_error_rad_s: (width,) mean error of the turn rate so far.
    """

    def __init__(self, cell: WalkCell, commands: WalkCommands):
        self.cell, self.commands, self.twin = cell, commands, cell.twin
        width = cell.width
        self.fallen, self.collided, self.stuck = (np.zeros(width, bool) for _ in range(3))
        self.slipped, self.tripped = np.zeros(width, bool), np.zeros(width, bool)
        self._slip_m, self._since_trip_s = np.zeros(width), np.full(width, np.inf)
        self._commanded_m, self._moved_m = np.zeros(width), np.zeros(width)
        self._error, self._turn_error, self._ticks = np.zeros(width), np.zeros(width), np.zeros(width)
        self._bumped = np.zeros((width, len(self.twin.robot.feet)))
        self._has_obstacles = self.twin.terrain.heights_m is not None

    def begin(self, ids: np.ndarray) -> None:
        for values in (
            self.fallen, self.collided, self.stuck, self.slipped, self.tripped, self._slip_m, self._commanded_m,
            self._moved_m, self._error, self._turn_error, self._ticks,
        ):  # fmt: skip
            values[ids] = 0
        self._since_trip_s[ids] = np.inf
        self._bumped[ids] = 0

    def update(self, ids: np.ndarray | None) -> None:
        """Take in the state after a control period, of slots `ids` (None: all)."""
        cell, period_s = self.cell, self.twin.control_period_s
        part = slice(None) if ids is None else ids
        command = self.commands.velocity
        error = cell.base_velocity_m_s[:, :2] - command[:, :2]
        self._error[part] += np.hypot(error[:, 0], error[:, 1])[part]
        self._turn_error[part] += np.abs(cell.turn_rad_s[:, 2] - command[:, 2])[part]
        self._ticks[part] += 1
        self._note_slips(part, period_s)
        self._note_trips(part, period_s)
        self._note_progress(part, period_s)
        upright = cell.gravity[:, 2] < -FALLEN_TILT
        high = cell.height_m > self.twin.robot.fallen_height_m
        touches = cell.base_force_n > CONTACT_N
        # On flat ground there is nothing to collide with but the ground itself.
        self.collided[part] = (touches & upright & high & self._has_obstacles)[part]
        fallen = ~upright | ~high | touches
        self.fallen[part] = fallen[part]
        self.slipped[part] = (fallen & (self._slip_m > SLIPPED_M))[part]
        self.tripped[part] = (fallen & (self._since_trip_s < TRIP_MEMORY_S))[part]

    def _note_slips(self, part: slice | np.ndarray, period_s: float) -> None:
        """Distance that loaded feet have slid; it decays with the time constant `SLIP_MEMORY_S`."""
        speed = np.hypot(self.cell.foot_velocity_m_s[..., 0], self.cell.foot_velocity_m_s[..., 1])
        slides = (self.cell.foot_force_n > CONTACT_N) & (speed > SLIP_M_S)
        slid_m = np.where(slides, speed, 0).max(axis=1) * period_s
        keep = np.exp(-period_s / SLIP_MEMORY_S)
        self._slip_m[part] = (keep * self._slip_m + slid_m)[part]

    def _note_trips(self, part: slice | np.ndarray, period_s: float) -> None:
        speed = np.hypot(self.cell.foot_velocity_m_s[..., 0], self.cell.foot_velocity_m_s[..., 1])
        swings = self.commands.swings(self.cell.tick)
        hits = swings & (self.cell.foot_force_n > CONTACT_N) & (self._bumped - speed > BUMP_M_S)
        hit = (self.cell.shin_force_n > CONTACT_N).any(axis=1) | hits.any(axis=1)
        self._since_trip_s[part] = np.where(hit, 0, self._since_trip_s + period_s)[part]
        self._bumped[part] = speed[part]

    def _note_progress(self, part: slice | np.ndarray, period_s: float) -> None:
        """Commanded distance, and distance covered in its direction; both decay with the time constant `STUCK_S`."""
        command = self.commands.velocity[:, :2]
        commanded_m_s = np.hypot(command[:, 0], command[:, 1])
        along = (self.cell.base_velocity_m_s[:, :2] * command).sum(axis=1) / np.maximum(commanded_m_s, 1e-6)
        keep = np.exp(-period_s / STUCK_S)
        self._commanded_m[part] = (keep * self._commanded_m + commanded_m_s * period_s)[part]
        self._moved_m[part] = (keep * self._moved_m + np.where(commanded_m_s > 0, along, 0) * period_s)[part]
        enough = (self._commanded_m > COMMANDED_M_S * STUCK_S) & (self.cell.tick * period_s > STUCK_S)
        self.stuck[part] = (enough & (self._moved_m < STUCK_SHARE * self._commanded_m))[part]

    @property
    def velocity_error_m_s(self) -> np.ndarray:
        return self._error / np.maximum(self._ticks, 1)

    @property
    def turn_error_rad_s(self) -> np.ndarray:
        return self._turn_error / np.maximum(self._ticks, 1)

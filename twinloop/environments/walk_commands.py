"""WalkCommands: velocity commands of all episodes, and the clock of the gait."""

from typing import ClassVar

import numpy as np

from twinloop.randomize.draw import episode_rng
from twinloop.run.walk import CommandConfig
from twinloop.twin.legs.walk_twin import WalkTwin

STANCE_SHARE = 0.55
"""Share of the step period in which a foot is on the ground."""


class WalkCommands:
    """The velocity commands of all slots. They depend on the seed and the index of an episode only.

    Attributes:
        velocity: (width, 3) present command: forward and to the left in m/s, turn rate in rad/s.
        moving: (width,) whether it asks for motion.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("forward", "left", "turn", "clock_sin", "clock_cos")

    def __init__(self, twin: WalkTwin, config: CommandConfig, *, width: int):
        self.twin, self.config = twin, config
        self._ticks = max(1, round(config.interval_s * twin.control_hz))
        self._plan = np.zeros((width, twin.longest_ticks // self._ticks + 2, 3))
        self._slots = np.arange(width)
        self._phases = np.array([foot.phase for foot in twin.robot.feet])
        self.velocity, self.moving = np.zeros((width, 3)), np.zeros(width, bool)
        self._low, self._high = np.array([config.forward_m_s, config.sideways_m_s, config.turn_rad_s]).T

    def begin(self, ids: np.ndarray, attempts: np.ndarray, *, seed: int) -> None:
        """Draw the commands of the episodes that begin."""
        # One episode at a time: each has its own generator, independent of its slot.
        for slot, attempt in zip(ids, attempts, strict=True):
            rng = episode_rng(seed, int(attempt), stream="commands")
            commands = rng.uniform(self._low, self._high, self._plan.shape[1:])
            commands[rng.random(len(commands)) < self.config.standing_share] = 0
            self._plan[slot] = commands
        self._set(ids, self._plan[ids, 0])

    def update(self, tick: np.ndarray) -> None:
        """Set the commands of these (width,) control periods."""
        due = np.flatnonzero(tick % self._ticks == 0)
        if len(due):
            number = np.minimum(tick[due] // self._ticks, self._plan.shape[1] - 1)
            self._set(due, self._plan[due, number])

    def _set(self, ids: np.ndarray, velocity: np.ndarray) -> None:
        self.velocity[ids] = velocity
        self.moving[ids] = np.abs(velocity).max(axis=1) > 0.05

    def phase(self, tick: np.ndarray) -> np.ndarray:
        """(width, feet) place in the step period of every foot, from 0 to 1."""
        share = tick * self.twin.control_period_s / self.twin.robot.step_period_s
        return np.mod(share[:, None] + self._phases, 1)

    def swings(self, tick: np.ndarray) -> np.ndarray:
        """(width, feet) whether a foot should be in the air."""
        return (self.phase(tick) > STANCE_SHARE) & self.moving[:, None]

    def observed(self, tick: np.ndarray) -> np.ndarray:
        """(width, 5) the command and the clock of the first foot. The clock is 0 for a robot that stands."""
        angle = 2 * np.pi * self.phase(tick)[:, 0]
        clock = np.column_stack([np.sin(angle), np.cos(angle)]) * self.moving[:, None]
        return np.concatenate([self.velocity, clock], axis=1)

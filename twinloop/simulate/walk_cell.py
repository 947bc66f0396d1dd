"""WalkCell: a batch of simulations of a legged robot. Each slot runs one episode."""

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.base_cell import BaseCell, filled_history
from twinloop.simulate.cpu_engine import CpuEngine
from twinloop.simulate.engine import Engine
from twinloop.twin.legs.walk_twin import WalkTwin
from twinloop.twin.rotation import inverse_rotated

DOWN = np.array([0.0, 0.0, -1.0])
START_GAP_M = 0.005
"""Room between the feet and the ground when an episode begins."""


class WalkCell(BaseCell):
    """`width` simulations of one twin. `admit` and `step` update all attributes.

    Attributes:
        gravity: (width, 3) direction of gravity in the frame of the base.
        foot_position: (width, feet, 3) in the world.
        foot_velocity_m_s: (width, feet, 3) mean velocity in the last control period.
        foot_force_n, shin_force_n: (width, feet) contact forces. base_force_n: (width,).
        start_xy_m: (width, 2) where the episode began.
    """

    def __init__(self, twin: WalkTwin, *, width: int, threads: int = 1, engine: Engine | None = None):
        super().__init__(twin, width=width, engine=engine or CpuEngine(twin.model, width=width, threads=threads))
        self.twin = twin
        self._sites = self.engine.bind("site_xpos")
        feet = len(twin.foot_sites)
        self.start_xy_m = np.zeros((width, 2))
        self.foot_velocity_m_s = np.zeros((width, feet, 3))
        self._last_foot = np.zeros((width, feet, 3))
        self._history = filled_history(twin, np.array(twin.robot.home_rad))
        self._look()

    def admit(self, ids: np.ndarray, draws: Draws, rows: np.ndarray, *, seed: int) -> None:
        """Begin episodes `rows` of `draws` in slots `ids`, on the patch of the drawn level, in a random direction."""
        twin = self.twin
        self.apply_rows(ids, draws, rows)
        # One episode at a time: each has its own generator, independent of its slot.
        chances = np.array([episode_rng(seed, int(i), stream="walk").random(4) for i in draws.attempts[rows]])
        self.chance[ids] = chances[:, 0]
        starts = twin.terrain.starts_m
        level = np.minimum(draws.values["terrain_level_share"][rows] * len(starts), len(starts) - 1).astype(int)
        place = starts[level, (chances[:, 1] * starts.shape[1]).astype(int)]
        self.start_xy_m[ids] = place
        self._qpos[np.ix_(ids, twin.arm_qpos)] = twin.robot.home_rad
        self._ctrl[np.ix_(ids, twin.arm_controls)] = twin.robot.home_rad
        if len(self._history):
            self.engine.bind("history")[ids] = self._history
        height = twin.terrain.height_at(place) + twin.start_height_m + START_GAP_M
        self.start(ids, np.column_stack([place, height]), 2 * np.pi * chances[:, 2])
        self._last_foot[ids] = self._sites[np.ix_(ids, twin.foot_sites)]
        self.foot_velocity_m_s[ids] = 0
        self._look()

    def step(self, ids: np.ndarray | None, targets_rad: np.ndarray) -> None:
        """Simulate one control period with these (width, joints) targets in slots `ids` (None: all)."""
        self._ctrl[:, self.twin.arm_controls] = targets_rad
        self.advance(ids)
        self._look()
        part = slice(None) if ids is None else ids
        self.foot_velocity_m_s[part] = ((self.foot_position - self._last_foot) / self.twin.control_period_s)[part]
        self._last_foot[part] = self.foot_position[part]

    def _look(self) -> None:
        twin = self.twin
        self.look_at_base()
        self.gravity = inverse_rotated(self.base_axes, np.broadcast_to(DOWN, (self.width, 3)))
        self.foot_position = self._sites[:, twin.foot_sites]
        self.foot_force_n = self._sensors[:, twin.foot_forces]
        self.shin_force_n = self._sensors[:, twin.shin_forces]
        self.base_force_n = self._sensors[:, twin.base_forces[0]]

    @property
    def height_m(self) -> np.ndarray:
        """(width,) height of the base above the ground below it."""
        return self.base_position[:, 2] - self.twin.terrain.height_at(self.base_position[:, :2])

    @property
    def foot_height_m(self) -> np.ndarray:
        """(width, feet) height of the feet's frames above the ground below them."""
        return self.foot_position[..., 2] - self.twin.terrain.height_at(self.foot_position[..., :2])

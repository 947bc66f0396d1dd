"""WalkCell: a batch of simulations of a legged robot. Each slot runs one episode."""

from typing import Any, cast

import mujoco
import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.randomize.hooks import OnBase
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import RECOMPUTED
from twinloop.randomize.table import APPLIED, TABLE
from twinloop.simulate.cpu_engine import CpuEngine
from twinloop.simulate.engine import Engine
from twinloop.simulate.model_fields import ModelFields
from twinloop.twin.legs.walk_twin import WalkTwin
from twinloop.twin.rotation import inverse_rotated

HOOKS: tuple[tuple[Parameter, OnBase], ...] = tuple((row, row.on_base) for row in TABLE if row.on_base is not None)
"""The rows that act on the motion of the base."""
DOWN = np.array([0.0, 0.0, -1.0])
START_GAP_M = 0.005
"""Room between the feet and the ground when an episode begins."""


class WalkCell(ModelFields):
    """`width` simulations of one twin.

    Every attribute is an array with one row per slot. `admit` and `step` update them.

    Attributes:
        base_position, base_axes: (width, 3) and (width, 3, 3) in the world.
        base_velocity_m_s, turn_rad_s: (width, 3) velocity in the frame of the base.
        gravity: (width, 3) direction of gravity in the frame of the base.
        foot_position: (width, feet, 3) in the world.
        foot_velocity_m_s: (width, feet, 3) mean velocity in the last control period.
        foot_force_n, shin_force_n: (width, feet) contact forces. base_force_n: (width,).
        start_xy_m: (width, 2) where the episode began.
        tick: (width,) control periods since the episode began.
    """

    def __init__(self, twin: WalkTwin, *, width: int, threads: int = 1, engine: Engine | None = None):
        super().__init__(twin.model, engine or CpuEngine(twin.model, width=width, threads=threads))
        self.twin, self.width = twin, width
        bind = self.engine.bind
        self.time_s = bind("time")
        self._qpos, self._qvel, self._ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self._sensors, self._forces = bind("sensordata"), bind("actuator_force")
        self._axes, self._sites = bind("xmat"), bind("site_xpos")
        self.base_position = self._qpos[:, :3]
        self.velocity_m_s = self._qvel[:, :3]
        self.control_period_s = twin.control_period_s
        self.turn_rad_s = self._qvel[:, 3:6]
        feet = len(twin.foot_sites)
        self.tick = np.zeros(width, int)
        self.chance, self.start_xy_m = np.zeros(width), np.zeros((width, 2))
        self.foot_velocity_m_s = np.zeros((width, feet, 3))
        self._last_foot = np.zeros((width, feet, 3))
        self._values: dict[str, np.ndarray] = {}
        self._history = _history_at_home(twin)
        self._look()

    # What hooks of rows and drives read, under the names that they have for arms.

    @property
    def arm_position_rad(self) -> np.ndarray:
        return self._qpos[:, self.twin.arm_qpos]

    @property
    def arm_velocity_rad_s(self) -> np.ndarray:
        return self._qvel[:, self.twin.arm_dofs]

    @property
    def arm_effort_nm(self) -> np.ndarray:
        return self._forces[:, self.twin.arm_controls]

    @property
    def failed(self) -> np.ndarray:
        """(width,) slots in which the engine has raised or warned."""
        return self.engine.failed()

    def diverged(self, expected_time_s: np.ndarray) -> np.ndarray:
        """(width,) slots whose physics is invalid: the engine warned or raised, or time did not advance."""
        stalled = np.abs(self.time_s - expected_time_s) > self.twin.model.opt.timestep / 2
        return stalled | self.failed

    def admit(self, ids: np.ndarray, draws: Draws, rows: np.ndarray, *, seed: int) -> None:
        """Begin episodes `rows` of `draws` in slots `ids`, on the patch of the drawn level, in a random direction."""
        twin = self.twin
        self.engine.reset(ids)
        self.restore(ids)
        for parameter in APPLIED:
            if parameter.apply is not None and parameter.columns[0] in draws.varied:
                parameter.apply(cast(Any, self), ids, draws.elements(parameter)[rows])
        for parameter, _ in HOOKS:
            if parameter.columns[0] in draws.varied:
                values = draws.elements(parameter)[rows]
                stored = self._values.setdefault(parameter.name, np.repeat(values[:1], self.width, axis=0))
                stored[ids] = values
        # One episode at a time: each has its own generator, independent of its slot.
        chances = np.array([episode_rng(seed, int(i), stream="walk").random(4) for i in draws.attempts[rows]])
        self.chance[ids] = chances[:, 0]
        starts = twin.terrain.starts_m
        level = np.minimum(draws.values["terrain_level_share"][rows] * len(starts), len(starts) - 1).astype(int)
        place = starts[level, (chances[:, 1] * starts.shape[1]).astype(int)]
        yaw = 2 * np.pi * chances[:, 2]
        self.start_xy_m[ids] = place
        self._qpos[ids, 0], self._qpos[ids, 1] = place.T
        self._qpos[ids, 2] = twin.terrain.height_at(place) + twin.start_height_m + START_GAP_M
        self._qpos[ids, 3:7] = np.column_stack([np.cos(yaw / 2), np.zeros((len(ids), 2)), np.sin(yaw / 2)])
        self._qpos[np.ix_(ids, twin.arm_qpos)] = twin.robot.home_rad
        self._ctrl[np.ix_(ids, twin.arm_controls)] = twin.robot.home_rad
        if len(self._history):
            self.engine.bind("history")[ids] = self._history
        if not RECOMPUTED.isdisjoint(self.varied_fields()):
            self.engine.set_const(ids)
        self.engine.forward(ids)
        self.tick[ids] = 0
        self._last_foot[ids] = self._sites[np.ix_(ids, twin.foot_sites)]
        self.foot_velocity_m_s[ids] = 0
        self._look()

    def step(self, ids: np.ndarray | None, targets_rad: np.ndarray) -> None:
        """Simulate one control period with these (width, joints) targets in slots `ids` (None: all)."""
        self._ctrl[:, self.twin.arm_controls] = targets_rad
        if self._values:
            self._move_bases(ids)
        self.engine.step(ids, self.twin.substeps)
        if ids is None:
            self.tick += 1
        else:
            self.tick[ids] += 1
        self._look()
        part = slice(None) if ids is None else ids
        self.foot_velocity_m_s[part] = ((self.foot_position - self._last_foot) / self.twin.control_period_s)[part]
        self._last_foot[part] = self.foot_position[part]

    def _move_bases(self, ids: np.ndarray | None) -> None:
        """Let rows change the velocity of the bases."""
        before = self.velocity_m_s.copy()
        for parameter, hook in HOOKS:
            if parameter.name in self._values:
                hook(self, self._values[parameter.name])
        moved = (self.velocity_m_s != before).any(axis=1)
        if ids is not None:
            still = np.ones(self.width, bool)
            still[ids] = False
            self.velocity_m_s[still] = before[still]
            moved &= ~still
        if moved.any():
            # The engine has computed what depends on the velocity when the state was observed.
            self.engine.forward(np.flatnonzero(moved))

    def _look(self) -> None:
        twin = self.twin
        self.base_axes = self._axes[:, twin.base_body].reshape(self.width, 3, 3)
        self.base_velocity_m_s = inverse_rotated(self.base_axes, self.velocity_m_s)
        self.gravity = inverse_rotated(self.base_axes, np.broadcast_to(DOWN, (self.width, 3)))
        self.foot_position = self._sites[:, twin.foot_sites]
        self.foot_force_n = self._sensors[:, twin.foot_forces]
        self.shin_force_n = self._sensors[:, twin.shin_forces]
        self.base_force_n = self._sensors[:, twin.base_forces[0]]

    def base_pose(self) -> np.ndarray:
        """(width, 7) place and quaternion w, x, y, z of the base in the world."""
        return self._qpos[:, :7].copy()

    @property
    def height_m(self) -> np.ndarray:
        """(width,) height of the base above the ground below it."""
        return self.base_position[:, 2] - self.twin.terrain.height_at(self.base_position[:, :2])

    @property
    def foot_height_m(self) -> np.ndarray:
        """(width, feet) height of the feet's frames above the ground below them."""
        return self.foot_position[..., 2] - self.twin.terrain.height_at(self.foot_position[..., :2])


def _history_at_home(twin: WalkTwin) -> np.ndarray:
    """Delay lines filled with the nominal pose. By default the engine fills them with zeros."""
    data = mujoco.MjData(twin.model)
    for actuator, target in zip(twin.arm_controls, twin.robot.home_rad, strict=True):
        samples = int(twin.model.actuator_history[actuator, 0])
        if samples:
            mujoco.mj_initCtrlHistory(twin.model, data, int(actuator), None, np.full(samples, target))
    return data.history.copy()

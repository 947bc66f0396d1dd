"""BaseCell: a batch of simulations of a robot with a free base: legs or wheels. Each slot runs one episode."""

from typing import Any, cast

import mujoco
import numpy as np

from twinloop.randomize.draw import Draws, nominal_elements
from twinloop.randomize.hooks import OnBase
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.physics import RECOMPUTED
from twinloop.randomize.table import APPLIED, TABLE
from twinloop.simulate.engine import Engine
from twinloop.simulate.model_fields import ModelFields
from twinloop.twin.legs.walk_twin import WalkTwin
from twinloop.twin.rotation import inverse_rotated
from twinloop.twin.wheels.wheel_twin import WheelTwin

HOOKS: tuple[tuple[Parameter, OnBase], ...] = tuple((row, row.on_base) for row in TABLE if row.on_base is not None)
"""The rows that act on the motion of the base."""


class BaseCell(ModelFields):
    """`width` simulations of one twin, whose first joint is the free joint of the base.

    Every attribute is an array with one row per slot.

    Attributes:
        base_position, base_axes: (width, 3) and (width, 3, 3) in the world.
        base_velocity_m_s, turn_rad_s: (width, 3) velocity in the frame of the base.
        velocity_m_s: (width, 3) velocity in the world.
        tick: (width,) control periods since the episode began.
        chance: (width,) a uniform number of the episode.
    """

    def __init__(self, twin: WalkTwin | WheelTwin, *, width: int, engine: Engine):
        super().__init__(twin.model, engine)
        self.width, self.control_period_s = width, twin.control_period_s
        self._twin = twin
        bind = self.engine.bind
        self.time_s = bind("time")
        self._qpos, self._qvel, self._ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self._sensors, self._forces = bind("sensordata"), bind("actuator_force")
        self._axes = bind("xmat")
        self.base_position = self._qpos[:, :3]
        self.velocity_m_s, self.turn_rad_s = self._qvel[:, :3], self._qvel[:, 3:6]
        self.tick, self.chance = np.zeros(width, int), np.zeros(width)
        self._values: dict[str, np.ndarray] = {}

    # Hooks of rows and drives read these attributes under the names that arms have.

    @property
    def arm_position_rad(self) -> np.ndarray:
        return self._qpos[:, self._twin.arm_qpos]

    @property
    def arm_velocity_rad_s(self) -> np.ndarray:
        return self._qvel[:, self._twin.arm_dofs]

    @property
    def arm_effort_nm(self) -> np.ndarray:
        return self._forces[:, self._twin.arm_controls]

    @property
    def failed(self) -> np.ndarray:
        """(width,) slots in which the engine has raised or warned."""
        return self.engine.failed()

    def diverged(self, expected_time_s: np.ndarray) -> np.ndarray:
        """(width,) slots whose physics is invalid: the engine warned or raised, or time did not advance."""
        stalled = np.abs(self.time_s - expected_time_s) > self._twin.model.opt.timestep / 2
        return stalled | self.failed

    def apply_rows(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Reset slots `ids`, and let rows of the table change the models of the episodes that begin."""
        self.engine.reset(ids)
        self.restore(ids)
        for parameter in APPLIED:
            if parameter.apply is not None and parameter.columns[0] in draws.varied:
                parameter.apply(cast(Any, self), ids, draws.elements(parameter)[rows])
        for parameter, _ in HOOKS:
            if parameter.columns[0] in draws.varied and parameter.name not in self._values:
                self._values[parameter.name] = nominal_elements(parameter, self.width)
            if parameter.name in self._values:
                # Nominal for a block that does not vary this row: the slot may have had an episode that did.
                self._values[parameter.name][ids] = draws.elements(parameter)[rows]

    def start(self, ids: np.ndarray, position: np.ndarray, yaw_rad: np.ndarray) -> None:
        """Put the bases of slots `ids` to these (n, 3) places and directions, and compute the state."""
        self._qpos[ids, :3] = position
        zero = np.zeros(len(ids))
        self._qpos[ids, 3:7] = np.column_stack([np.cos(yaw_rad / 2), zero, zero, np.sin(yaw_rad / 2)])
        if not RECOMPUTED.isdisjoint(self.varied_fields()):
            self.engine.set_const(ids)
        self.engine.forward(ids)
        self.tick[ids] = 0

    def advance(self, ids: np.ndarray | None) -> None:
        """Simulate one control period in slots `ids` (None: all)."""
        if self._values:
            self._move_bases(ids)
        self.engine.step(ids, self._twin.substeps)
        if ids is None:
            self.tick += 1
        else:
            self.tick[ids] += 1

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

    def look_at_base(self) -> None:
        self.base_axes = self._axes[:, self._twin.base_body].reshape(self.width, 3, 3)
        self.base_velocity_m_s = inverse_rotated(self.base_axes, self.velocity_m_s)

    def base_pose(self) -> np.ndarray:
        """(width, 7) place and quaternion w, x, y, z of the base in the world."""
        return self._qpos[:, :7].copy()


def filled_history(twin: WalkTwin | WheelTwin, targets: np.ndarray) -> np.ndarray:
    """Delay lines filled with these targets. By default the engine fills them with zeros."""
    data = mujoco.MjData(twin.model)
    for actuator, target in zip(twin.arm_controls, targets, strict=True):
        samples = int(twin.model.actuator_history[actuator, 0])
        if samples:
            mujoco.mj_initCtrlHistory(twin.model, data, int(actuator), None, np.full(samples, target))
    return data.history.copy()

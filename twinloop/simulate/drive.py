"""Drive: errors between the actor's command and the motors.

Rows of the parameter table change a command in the order of the signal:
1. bus: it may be lost, or arrive late. The engine has a delay line, whose length may change.
2. setpoint, gear, joint: noise, gear errors and compliance shift the target.
3. play: nothing moves inside a gear's backlash.
4. motor: the torque limits change.

The errors change the robot's motion. They do not change the recorded command.
"""

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng, nominal_elements
from twinloop.randomize.hooks import COMMAND_STAGES, CommandStage, OnCommand
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import TABLE
from twinloop.simulate.cell import Cell

HOOKS: dict[str, tuple[Parameter, OnCommand]] = {
    row.name: (row, row.on_command) for row in TABLE if row.on_command is not None
}
"""The rows that act on commands, by name."""


class Drive:
    """The drives of all slots of a cell. It costs nothing while no episode varies a row that acts on commands.

    It is the `Command` that the functions of these rows change.
    """

    def __init__(self, cell: Cell, *, seed: int):
        self.twin, self.fields = cell.twin, cell
        self._cell, self._seed = cell, seed
        width, joints, ticks = cell.width, cell.twin.joints, cell.twin.longest_ticks + 1
        self._shape = (width, joints, ticks)
        self._all = np.arange(width)
        self._values: dict[str, np.ndarray] = {}
        self._stages: dict[CommandStage, list[tuple[OnCommand, np.ndarray]]] = {}
        self._white: dict[str, np.ndarray] = {}
        self._memory: dict[str, np.ndarray] = {}

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        fresh = [
            name for name, (row, _) in HOOKS.items() if name not in self._values and row.columns[0] in draws.varied
        ]
        if fresh:
            self._activate(fresh)
        if not self._values:
            return
        for name, values in self._values.items():
            values[ids] = draws.elements(HOOKS[name][0])[rows]
        self.tick[ids] = 0
        self._attempts[ids] = draws.attempts[rows]
        # One episode at a time: each has its own generator, independent of its slot and batch.
        for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
            rng = episode_rng(self._seed, int(attempt), stream="drive")
            self.phase_rad[slot] = rng.uniform(0, 2 * np.pi, self._shape[1])
            rng.standard_normal(out=self._noise[slot])
            rng.random(out=self._chance[slot])
            # Earlier work has warmed the motors, so the initial heat is random.
            self.warmth[slot] = rng.random(self._shape[1])
        for stream in self._white:
            self._draw(stream, ids)

    def _activate(self, fresh: list[str]) -> None:
        width, joints, ticks = self._shape
        if not self._values:
            self.phase_rad, self.warmth = np.zeros((width, joints)), np.zeros((width, joints))
            self.tick, self._attempts = np.zeros(width, int), np.zeros(width, int)
            self._noise, self._chance = np.zeros((width, ticks, joints, 2)), np.zeros((width, ticks))
        for name in fresh:
            # Other slots may have episodes of blocks that do not vary this row.
            self._values[name] = nominal_elements(HOOKS[name][0], width)
        active = [(hook, self._values[name]) for name, (_, hook) in HOOKS.items() if name in self._values]
        self._stages = {stage: [pair for pair in active if pair[0].at == stage] for stage in COMMAND_STAGES}

    def carry(self, command_rad: np.ndarray, ids: np.ndarray | None = None) -> np.ndarray:
        """Return the (width, joints) targets that reach the servos in this control period.

        Args:
            ids: slots that are simulated in this period; None for all. The others wait at the start of an episode.
        """
        if not self._values:
            return command_rad
        self.rad, self.effort_nm = command_rad, self._cell.arm_effort_nm
        self.noise, self.chance = self._noise[self._all, self.tick], self._chance[self._all, self.tick]
        self._offset_mrad: np.ndarray | None = None
        for stage, hooks in self._stages.items():
            if stage == "play" and self._offset_mrad is not None:
                self.rad = self.rad + 1e-3 * self._offset_mrad
            for hook, values in hooks:
                hook.act(self, values)
        later = np.minimum(self.tick + 1, self._shape[2] - 1)
        if ids is None:
            self.tick = later
        else:
            self.tick[ids] = later[ids]
        return self.rad

    def shift_mrad(self, offset: np.ndarray) -> None:
        self._offset_mrad = offset if self._offset_mrad is None else self._offset_mrad + offset

    def white(self, stream: str) -> np.ndarray:
        if stream not in self._white:
            width, joints, ticks = self._shape
            self._white[stream] = np.zeros((width, ticks, joints))
            self._draw(stream, self._all)
        return self._white[stream][self._all, self.tick]

    def _draw(self, stream: str, ids: np.ndarray) -> None:
        for slot in ids:
            rng = episode_rng(self._seed, int(self._attempts[slot]), stream=f"drive/{stream}")
            rng.standard_normal(out=self._white[stream][slot])

    def memory(self, name: str, initial: np.ndarray) -> np.ndarray:
        stored = self._memory.get(name)
        if stored is None:
            return np.array(initial)
        first = (self.tick == 0).reshape(-1, *(1,) * (stored.ndim - 1))
        return np.where(first, initial, stored) if first.any() else stored

    def remember(self, name: str, values: np.ndarray) -> None:
        self._memory[name] = values

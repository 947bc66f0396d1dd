"""Drive: errors between the actor's command and the motors.

They are applied in the order of the signal:
1. A command may be lost; the last one received stays in effect.
2. It arrives late. The engine has a delay line, whose length jitters.
3. Noise and drift are added.
4. Gear ripple, and compliance of the joint under torque, shift the target.
5. Gear backlash: nothing moves inside it.

Motor torque fades with heat. These errors change the robot's motion. They do not change the recorded command.
"""

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.cell import Cell

DRIFT_MEMORY_S = 0.5
RIPPLES_PER_TURN = 16
HEATING_S = 20.0  # time at full torque until a motor is hot

READ = (
    "control_noise_mrad",
    "control_drift_mrad",
    "backlash_mrad",
    "compliance_mrad_nm",
    "gear_ripple_mrad",
    "heat_fade_share",
    "action_delay_ms",
    "action_jitter_ms",
    "command_loss_share",
)


class Drive:
    """The drives of all slots of a cell. It costs nothing while no episode varies one of the columns in `READ`."""

    def __init__(self, cell: Cell, *, seed: int):
        self._cell, self._seed = cell, seed
        self._active = False
        width, joints, ticks = cell.width, len(cell.twin.arm_joints), cell.twin.longest_ticks + 1
        self._shape = (width, joints, ticks)
        self._all = np.arange(width)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        if not any(name in draws.varied for name in READ):
            return
        if not self._active:
            self._allocate()
        for name in READ:
            self._value[name][ids] = draws.values[name][rows]
        home = self._cell.twin.robot.home_rad
        self._received[ids] = self._played[ids] = home
        self._tick[ids] = 0
        # One episode at a time: each has its own generator, independent of its slot and batch.
        for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
            rng = episode_rng(self._seed, int(attempt), stream="drive")
            self._angle[slot] = rng.uniform(0, 2 * np.pi, self._shape[1])
            rng.standard_normal(out=self._white[slot])
            rng.random(out=self._chance[slot])
            # Earlier work has warmed the motors, so the initial heat is random.
            self._heat[slot] = rng.random(self._shape[1])
        self._drift[ids] = self._white[ids, 0, :, 1]
        self._strength[ids] = self._cell["actuator_forcerange"][ids]

    def _allocate(self) -> None:
        self._active = True
        width, joints, ticks = self._shape
        self._value = {name: np.zeros(width) for name in READ}
        self._received, self._played, self._heat, self._drift, self._angle = (
            np.zeros((width, joints)) for _ in range(5)
        )
        self._tick = np.zeros(width, int)
        self._white = np.zeros((width, ticks, joints, 2))
        self._chance = np.zeros((width, ticks))
        self._strength = self._cell["actuator_forcerange"].copy()

    def carry(self, command_rad: np.ndarray) -> np.ndarray:
        """Return the (width, joints) targets that reach the servos in this control period."""
        if not self._active:
            return command_rad
        cell, value = self._cell, self._value
        white, tick = self._white[self._all, self._tick], self._tick
        # The first command always arrives, because there is no earlier one to hold.
        lost = (self._chance[self._all, tick] < value["command_loss_share"]) & (tick > 0)
        self._received = np.where(lost[:, None], self._received, command_rad)
        self._jitter(white[:, 0, 0])
        keep = np.exp(-cell.twin.control_period_s / DRIFT_MEMORY_S)
        self._drift = keep * self._drift + np.sqrt(1 - keep**2) * white[:, :, 1]

        target = self._received + 1e-3 * (
            value["control_noise_mrad"][:, None] * white[:, :, 0]
            + value["control_drift_mrad"][:, None] * self._drift
            + value["gear_ripple_mrad"][:, None] * np.sin(RIPPLES_PER_TURN * self._received + self._angle)
            - value["compliance_mrad_nm"][:, None] * cell.arm_effort_nm
        )
        half = 0.5e-3 * value["backlash_mrad"][:, None]
        self._played = np.clip(self._played, target - half, target + half)
        self._fade()
        self._tick = np.minimum(tick + 1, self._shape[2] - 1)
        return self._played

    def _jitter(self, white: np.ndarray) -> None:
        jitter_ms = self._value["action_jitter_ms"]
        if jitter_ms.any():
            delay_s = np.maximum(self._value["action_delay_ms"] + jitter_ms * white, 0) / 1000
            self._cell["actuator_delay"][:] = np.minimum(delay_s, self._cell.twin.longest_delay_s)[:, None]

    def _fade(self) -> None:
        """Reduce the motors' torque limits with their heat, which grows with the square of the torque."""
        fade = self._value["heat_fade_share"]
        if fade.any():
            twin = self._cell.twin
            load = np.square(self._cell.arm_effort_nm / np.array(twin.robot.torque_limits_nm))
            self._heat = np.minimum(self._heat + load * twin.control_period_s / HEATING_S, 1)
            strength = 1 - fade[:, None] * self._heat
            arm = twin.arm_controls
            self._cell["actuator_forcerange"][:, arm] = self._strength[:, arm] * strength[:, :, None]

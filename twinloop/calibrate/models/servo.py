"""Drives: from a goal on the bus to torque at the joint, for all joints of all simulations at once.

The goal arrives late (delay), is smoothed (lag) and passes the gears' play (backlash); the servo compares it with
what its encoder says (bias) and drives the motor; the gears rub (friction.py). The two kinds differ in the motor:
`voltage_servo` knows its supply and its gain register, `position_servo` is known by its stiffness at the joint.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from twinloop.calibrate.models.friction import FRICTION, Values, friction_limit
from twinloop.calibrate.models.knob import Knob

STEPS = "quick reversals of the goal, or steps"

NOTHING_HELD = -10.0
HELD_NM_RAD = 100.0

COMMON = (
    *FRICTION,
    Knob("armature_kgm2", "kg·m²", 0.002, 1e-5, 0.2, "fast accelerations: steps, quick sines, a free swing", log=True),
    Knob("delay_ms", "ms", 0.0, 0.0, 250.0, STEPS, row="action_delay_ms"),
    Knob("lag_ms", "ms", 0.0, 0.0, 250.0, STEPS),
    Knob("backlash_rad", "rad", 0.0, 0.0, 0.1, "slow reversals under changing load", row="backlash_mrad",
         row_scale=1000.0),
    Knob("held_rad", "rad", NOTHING_HELD, NOTHING_HELD, 10.0, "closing on things of every kind that occurs"),
    Knob("encoder_bias_rad", "rad", 0.0, -0.2, 0.2, "rest under gravity in several poses, both ways round",
         row="encoder_bias_mrad", row_scale=1000.0),
)  # fmt: skip


@dataclass(frozen=True)
class Push:
    """What a drive does to its joints in one step: torque, and the engine's friction limit and damping."""

    torque_nm: np.ndarray
    friction_nm: np.ndarray
    damping_nms_rad: np.ndarray


class ServoModel(ABC):
    """Begun once a rollout with (simulations, joints) arrays; then asked for every step of the physics."""

    knobs: ClassVar[tuple[Knob, ...]]
    inputs: ClassVar[dict[str, float]]
    """What the log or the bench file says of each recording, and what holds if neither does."""

    def __init__(self, values: Values, inputs: Values, goal_rad: np.ndarray):
        self.values, self.given = values, inputs
        self._smooth, self._played = goal_rad.copy(), goal_rad.copy()
        self._opened = np.zeros(goal_rad.shape, bool)

    def push(
        self, goal: np.ndarray, on: np.ndarray, position: np.ndarray, speed: np.ndarray, bias: np.ndarray, step_s: float
    ) -> Push:
        """`goal`: as it has arrived by now. `on`: 1 where the motor is powered. `bias`: the engine's qfrc_bias."""
        values = self.values
        lag_s = values["lag_ms"] / 1000
        self._smooth += (goal - self._smooth) * (1 - np.exp(-step_s / np.maximum(lag_s, 1e-6)))
        half = values["backlash_rad"] / 2
        self._played = np.clip(self._played, self._smooth - half, self._smooth + half)
        seen = position + values["encoder_bias_rad"]
        torque, braking = self.motor(self._played - seen)
        torque, braking = torque * on, braking * on
        limit = friction_limit(values, torque - braking * speed, bias, speed)
        return Push(torque + self._held(position), limit, braking + values["viscous_nms_rad"])

    def _held(self, position: np.ndarray) -> np.ndarray:
        """Jaws that have been open close on the thing between them: it pushes back where they would go on."""
        self._opened |= position > self.values["held_rad"]
        return np.where(self._opened, HELD_NM_RAD * np.maximum(self.values["held_rad"] - position, 0), 0)

    @abstractmethod
    def motor(self, error_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torque at standstill, and how much of it is lost a rad/s (the back-EMF)."""


class VoltageServo(ServoModel):
    """duty = clip(gain · error); a DC motor behind it. Inputs: duty_per_rad, supply_v."""

    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob("torque_constant_nm_a", "N·m/A", 0.5, 0.02, 5.0, "holding a load, and fast free motion", log=True),
        Knob("resistance_ohm", "Ω", 4.0, 0.3, 60.0, "holding a load: the error that a known torque needs", log=True),
        Knob("duty_limit", "1", 1.0, 0.2, 1.0, "steps larger than the servo can follow"),
        Knob("sag", "1", 0.0, 0.0, 2.0, "heavy loads held at several gains, up to full duty"),
        *COMMON,
    )
    inputs: ClassVar[dict[str, float]] = {"duty_per_rad": 1.0, "supply_v": 12.0}

    def motor(self, error_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        constant, limit = self.values["torque_constant_nm_a"], self.values["duty_limit"]
        per_volt = constant / self.values["resistance_ohm"]
        duty = np.clip(error_rad * self.given["duty_per_rad"], -limit, limit)
        # Leads, bridge and regulator give way under the current drawn.
        volts = self.given["supply_v"] / (1 + self.values["sag"] * np.abs(duty))
        return per_volt * volts * duty, per_volt * constant


class PositionServo(ServoModel):
    """torque = clip(stiffness · error) less a speed-dependent part, as any geared servo with a P loop shows it.

    Within `deadband_rad` of its goal it does nothing.
    """

    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob("stiffness_nm_rad", "N·m/rad", 15.0, 0.3, 300.0, "rest in poses with different gravity load", log=True),
        Knob("braking_nms_rad", "N·m·s/rad", 1.0, 0.01, 30.0, "fast motion, steps", log=True),
        Knob("torque_limit_nm", "N·m", 3.0, 0.05, 10.0, "steps larger than the servo can follow, or a stall", log=True),
        Knob("deadband_rad", "rad", 0.0, 0.0, 0.1, "many small steps, and rest after them"),
        *COMMON,
    )
    inputs: ClassVar[dict[str, float]] = {}

    def motor(self, error_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dead = self.values["deadband_rad"]
        live = error_rad - np.clip(error_rad, -dead, dead)
        limit = self.values["torque_limit_nm"]
        return np.clip(self.values["stiffness_nm_rad"] * live, -limit, limit), self.values["braking_nms_rad"]


DRIVES: dict[str, type[ServoModel]] = {"voltage_servo": VoltageServo, "position_servo": PositionServo}

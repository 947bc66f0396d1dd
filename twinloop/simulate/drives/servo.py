"""Servo models: from a goal on the bus to torque at the joint, for all joints of all simulations at once.

The goal arrives late (delay), is smoothed (lag) and passes the play of the gears (backlash). The servo compares it
with its encoder (bias) and drives the motor against the friction of the gears (friction.py). The two models differ in
the motor: `voltage_servo` has a supply voltage and a gain register, `position_servo` a stiffness at the joint.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from twinloop.randomize.fit_variable import FitVariable
from twinloop.randomize.servo import COMMON, FRICTION, NOTHING_HELD, POSITION, VOLTAGE
from twinloop.simulate.drives.friction import Friction, Values

HELD_NM_RAD = 100.0


@dataclass(frozen=True)
class Push:
    """The effect of a servo on its joints in one step.

    Attributes:
        torque_nm: torque that the engine applies.
        friction_nm: friction limit of the engine.
        damping_nms_rad: damping of the engine.
        motor_nm: the part of `torque_nm` that the motor makes at standstill.
        braking_nms_rad: how much of it is lost per rad/s.
    """

    torque_nm: np.ndarray
    friction_nm: np.ndarray
    damping_nms_rad: np.ndarray
    motor_nm: np.ndarray
    braking_nms_rad: np.ndarray


class ServoModel(ABC):
    """One rollout of the servos. Made with arrays over simulations and joints, then called for every physics step.

    Stages that change nothing in any simulation (no lag, no backlash, nothing held) are skipped.
    """

    variables: ClassVar[tuple[FitVariable, ...]]
    command: ClassVar[tuple[str, ...]] = ("position",)
    """Accepted values of `of` of the commanded channel."""
    inputs: ClassVar[dict[str, float]]
    """Quantities that the log or the bench file gives for each recording, with their defaults."""

    def __init__(self, values: Values, inputs: Values, goal_rad: np.ndarray):
        self.values, self.given = values, inputs
        self._smooth, self._played = goal_rad.copy(), goal_rad.copy()
        self._opened = np.zeros(goal_rad.shape, bool)
        self.refresh()

    def refresh(self) -> None:
        """Compute everything that follows from `values`. Call it after they have changed."""
        values = self.values
        self._friction = Friction(values)
        self._lags, self._plays = bool(np.any(values["lag_ms"])), bool(np.any(values.get("backlash_rad", 0.0)))
        self._holds = bool(np.any(values.get("held_rad", NOTHING_HELD) > NOTHING_HELD))
        self._blend: np.ndarray | None = None

    def restart(self, rows: np.ndarray, goal_rad: np.ndarray) -> None:
        """Begin anew in these simulations, with this goal. The values of these rows have been written before."""
        self._smooth[rows] = self._played[rows] = goal_rad
        self._opened[rows] = False
        self.refresh()

    def push(
        self, goal: np.ndarray, on: np.ndarray, position: np.ndarray, speed: np.ndarray, bias: np.ndarray, step_s: float
    ) -> Push:
        """Advance the servos by one physics step.

        Args:
            goal: the delayed goal.
            on: 1 where the motor is powered.
            bias: qfrc_bias of the engine.
        """
        values = self.values
        goal = self._lagged(goal, step_s)
        if self._plays:
            half = values["backlash_rad"] / 2
            goal = self._played = np.clip(self._played, goal - half, goal + half)
        torque, braking = self.motor(goal - position - values["encoder_bias_rad"], speed)
        torque, braking = torque * on, braking * on
        limit = self._friction.limit(torque - braking * speed, bias, speed)
        held = self._held(position) if self._holds else 0.0
        return Push(torque + held, limit, braking + values["viscous_nms_rad"], torque, braking)

    def _lagged(self, goal: np.ndarray, step_s: float) -> np.ndarray:
        """The command after the first-order lag."""
        if not self._lags:
            return goal
        if self._blend is None:
            self._blend = 1 - np.exp(-step_s / np.maximum(self.values["lag_ms"] / 1000, 1e-6))
        # Without a lag the goal itself, to the bit, whatever the other simulations have.
        self._smooth = np.where(self._blend >= 1, goal, self._smooth + (goal - self._smooth) * self._blend)
        return self._smooth

    def _held(self, position: np.ndarray) -> np.ndarray:
        """Jaws that have been open close on an object, which pushes back."""
        self._opened |= position > self.values["held_rad"]
        return np.where(self._opened, HELD_NM_RAD * np.maximum(self.values["held_rad"] - position, 0), 0)

    @abstractmethod
    def motor(self, error_rad: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Torque, and the damping (back-EMF and derivative gain) that the engine subtracts from it."""

    @classmethod
    @abstractmethod
    def top_speed_rad_s(cls, values: Mapping[str, float], inputs: Mapping[str, float]) -> float:
        """The speed of one joint at which the motor can no longer accelerate it, without friction and load."""

    @classmethod
    def effort(cls, error_rad: np.ndarray, inputs: Mapping[str, float]) -> np.ndarray:
        """How hard the servo pushes for an error, up to a factor that all logs of a robot share."""
        del inputs
        return np.abs(error_rad)

    @classmethod
    def as_delay_and_lag(
        cls, variables: Mapping[str, FitVariable], delay_s: float, lag_s: float
    ) -> dict[str, float] | None:
        """Values for one joint that make the servo a dead time and a first-order lag; None if it cannot be one."""
        del variables, delay_s, lag_s
        return None


class VoltageServo(ServoModel):
    """duty = clip(gain · error), followed by a DC motor. Inputs: duty_per_rad, supply_v."""

    variables: ClassVar[tuple[FitVariable, ...]] = (
        *VOLTAGE,
        *COMMON,
    )
    inputs: ClassVar[dict[str, float]] = {"duty_per_rad": 1.0, "supply_v": 12.0}

    def motor(self, error_rad: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        del speed
        constant, limit = self.values["torque_constant_nm_a"], self.values["duty_limit"]
        per_volt = constant / self.values["resistance_ohm"]
        duty = np.clip(error_rad * self.given["duty_per_rad"], -limit, limit)
        # The voltage at the motor drops with the current, in leads, bridge and regulator.
        volts = self.given["supply_v"] / (1 + self.values["sag"] * np.abs(duty))
        return per_volt * volts * duty, per_volt * constant

    @classmethod
    def effort(cls, error_rad: np.ndarray, inputs: Mapping[str, float]) -> np.ndarray:
        return np.minimum(np.abs(error_rad) * inputs["duty_per_rad"], 1.0) * inputs["supply_v"]

    @classmethod
    def top_speed_rad_s(cls, values: Mapping[str, float], inputs: Mapping[str, float]) -> float:
        duty = values["duty_limit"]
        return inputs["supply_v"] * duty / (1 + values["sag"] * duty) / values["torque_constant_nm_a"]


class PositionServo(ServoModel):
    """torque = clip(stiffness · error - derivative · speed, ± torque_limit) - back_emf · speed.

    back_emf = torque_limit / no_load_speed, as in any DC motor, and derivative + back_emf = braking. So the lag
    (braking / stiffness) and the highest speed (no_load_speed) are set independently of each other. With only one
    damping outside the limit, a servo with a long lag would also be a slow one.
    Within `deadband_rad` of its goal the servo gives no torque.
    """

    variables: ClassVar[tuple[FitVariable, ...]] = (
        *POSITION,
        *COMMON,
    )
    inputs: ClassVar[dict[str, float]] = {}

    def refresh(self) -> None:
        super().refresh()
        values = self.values
        self._back_emf = np.minimum(
            values["torque_limit_nm"] / values["no_load_speed_rad_s"], values["braking_nms_rad"]
        )
        self._derivative = values["braking_nms_rad"] - self._back_emf
        self._has_deadband = bool(np.any(values["deadband_rad"]))

    def motor(self, error_rad: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = self.values
        if self._has_deadband:
            error_rad = error_rad - np.clip(error_rad, -values["deadband_rad"], values["deadband_rad"])
        proportional, limit = values["stiffness_nm_rad"] * error_rad, values["torque_limit_nm"]
        requested = proportional - self._derivative * speed
        saturated = np.abs(requested) > limit
        # Inside the limit the derivative part is left to the engine as damping, which it integrates implicitly.
        return (
            np.where(saturated, np.copysign(limit, requested), proportional),
            np.where(saturated, self._back_emf, values["braking_nms_rad"]),
        )

    @classmethod
    def top_speed_rad_s(cls, values: Mapping[str, float], inputs: Mapping[str, float]) -> float:
        del inputs
        return max(values["no_load_speed_rad_s"], values["torque_limit_nm"] / values["braking_nms_rad"])

    @classmethod
    def as_delay_and_lag(
        cls, variables: Mapping[str, FitVariable], delay_s: float, lag_s: float
    ) -> dict[str, float] | None:
        """A stiff servo without friction whose braking makes the lag."""
        values = {variable.name: 0.0 for variable in FRICTION if variable.name != "stribeck_speed_rad_s"}
        braking = variables["braking_nms_rad"]
        stiffness = min(variables["stiffness_nm_rad"].high, braking.high / max(lag_s, 1e-3))
        return {
            **values,
            "stiffness_nm_rad": stiffness,
            "braking_nms_rad": max(stiffness * lag_s, braking.low),
            "torque_limit_nm": max(variables["torque_limit_nm"].high, 4 * stiffness),  # never reached
            "no_load_speed_rad_s": variables["no_load_speed_rad_s"].high,
            "armature_kgm2": variables["armature_kgm2"].low,
            "deadband_rad": 0.0,
            "backlash_rad": 0.0,
            "encoder_bias_rad": 0.0,
            "lag_ms": 0.0,
            "delay_ms": 1000 * delay_s,
        }


class TorqueDrive(ServoModel):
    """torque = clip(gain · command): an arm that is commanded torques or motor currents.

    `torque_gain` is the share of the commanded torque that acts on the joint. Delay, lag, friction and rotor inertia
    are as in the other drives.
    """

    variables: ClassVar[tuple[FitVariable, ...]] = (
        FitVariable("torque_gain", "1", 1.0, 0.2, 2.0, "a known load that is held or moved"),
        FitVariable("torque_limit_nm", "N·m", 100.0, 0.05, 1000.0, "commands beyond what the motor can do", log=True),
        *(variable for variable in COMMON if variable.name not in ("backlash_rad", "held_rad")),
    )
    command: ClassVar[tuple[str, ...]] = ("torque", "current")
    inputs: ClassVar[dict[str, float]] = {}

    def push(
        self, goal: np.ndarray, on: np.ndarray, position: np.ndarray, speed: np.ndarray, bias: np.ndarray, step_s: float
    ) -> Push:
        """`goal`: the commanded torque in N·m at the joint."""
        del position  # a torque does not depend on it
        torque, braking = self.motor(self._lagged(goal, step_s), speed)
        torque = torque * on
        limit = self._friction.limit(torque, bias, speed)
        return Push(torque, limit, braking + self.values["viscous_nms_rad"], torque, braking)

    def motor(self, error_rad: np.ndarray, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`error_rad` is the commanded torque: there is no position loop."""
        del speed
        limit = self.values["torque_limit_nm"]
        return np.clip(self.values["torque_gain"] * error_rad, -limit, limit), np.zeros_like(error_rad)

    @classmethod
    def top_speed_rad_s(cls, values: Mapping[str, float], inputs: Mapping[str, float]) -> float:
        """A motor that makes a commanded torque has no top speed of its own."""
        del values, inputs
        return np.inf


DRIVES: dict[str, type[ServoModel]] = {
    "voltage_servo": VoltageServo,
    "position_servo": PositionServo,
    "torque_drive": TorqueDrive,
}

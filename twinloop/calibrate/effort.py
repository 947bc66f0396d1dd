"""Torque and current channels: readings of a motor or a torque sensor, computed from the simulation.

A log may hold torque (N·m) or motor current (A). With the torque constant k and the gear ratio n,

    current = torque / (k · n) + bias.

The torque or current of a motor includes friction and the torque that accelerates the rotor (`at: motor`). The reading
of a torque sensor behind the gears does not include these two (`at: link`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.calibrate.bench_file import EFFORT_UNITS, MODEL_UNIT, ChannelFile, Refusal, Side, Variable, VariableFile
from twinloop.randomize.fit_variable import FitVariable

CONSTANT = "torque_constant_nm_a"
AROUND = 5.0
"""Bounds of a torque constant that is given as one number: a fifth of the number to five times the number."""
LOADS = "a known load that is held or moved, such as the arm's own weight in several poses"
AT_REST = "the same poses approached from both sides"


@dataclass(frozen=True)
class EffortConfig:
    """How a channel's number follows from the torque at its joint.

    Attributes:
        side: `motor` or `link`.
        constant: full name of the fit variable with the torque constant; empty for a torque.
        gear_ratio: motor turns per turn of the joint.
        bias: full name of the fit variable that is added; empty if there is none.
    """

    side: Side = "motor"
    constant: str = ""
    gear_ratio: float = 1.0
    bias: str = ""

    def torque_per_unit(self, value_of: Callable[[str], np.ndarray]) -> np.ndarray | float:
        """N·m per N·m or ampere."""
        return value_of(self.constant) * self.gear_ratio if self.constant else 1.0


def effort_config(file: ChannelFile, variables: dict[str, FitVariable], refuse: Refusal) -> EffortConfig:
    """The torque or current of one channel. Adds its fit variables to `variables`."""
    joint, constant, bias = file.joint, "", ""
    if file.of == "current":
        constant = f"{joint}.{CONSTANT}"
        if file.torque_constant_nm_a is not None and constant in variables:
            raise refuse(
                CONSTANT, f"of {joint} is given more than once; give it once, or in `drive.parameters` if it has one"
            )
        if file.torque_constant_nm_a is not None:
            variable = file.torque_constant_nm_a
            variables[constant] = _variable(variable, CONSTANT, constant, "N·m/A", LOADS, refuse, log=True)
        elif constant not in variables:
            raise refuse(
                CONSTANT,
                "is missing; give the motor's torque constant as a number, or as {value, low, high} if it is not known "
                "well. `gear_ratio` brings it to the joint",
            )
    if file.bias is not None:
        bias = f"{joint}.{file.name}_bias"
        variables[bias] = _variable(file.bias, "bias", bias, MODEL_UNIT[file.of], AT_REST, refuse, log=False)
    return EffortConfig(file.at or "motor", constant, file.gear_ratio or 1.0, bias)


def _variable(
    given: Variable, key: str, name: str, unit: str, reveals: str, refuse: Refusal, *, log: bool
) -> FitVariable:  # fmt: skip
    """A fit variable that a file gives as a number, or as value, low and high."""
    if isinstance(given, VariableFile):
        low, high = given.low or 0.0, given.high or 0.0
        middle = float(np.sqrt(low * high)) if log and low > 0 else (low + high) / 2
        value = middle if given.value is None else given.value
    else:
        value, reach = given, abs(given) or 1.0
        low, high = (value / AROUND, value * AROUND) if log else (value - reach, value + reach)
    if not low < high or not low <= value <= high:
        problem = f"is {value:g}, bounds {low:g} to {high:g}"
        raise refuse(key, f"{problem}; a number, or value, low and high were expected, low below high")
    if log and low <= 0:
        raise refuse(key, f"is {value:g}, bounds {low:g} to {high:g}; it must stay above 0")
    return FitVariable(name, unit, value, low, high, reveals, log)


class EffortReader:
    """Computes the torque and current channels of a batch while it is stepped.

    The value at a frame is what acts from this frame on, as a controller logs the torque that it computes from the
    state in the same row.
    """

    def __init__(self, model: mujoco.MjModel, channels: Sequence, batch) -> None:
        self._channels = [channel for channel in channels if channel.of in EFFORT_UNITS]
        self._dofs = [int(model.joint(channel.joint).dofadr[0]) for channel in self._channels]
        self._timestep_s = model.opt.timestep
        if self._channels:
            self._velocity = batch.bind("qvel")
            self._forces = {name: batch.bind(name) for name in ("qfrc_actuator", "qfrc_passive", "qfrc_constraint")}
            self._before = self._velocity.copy()

    @property
    def is_needed(self) -> bool:
        return bool(self._channels)

    def note_velocity(self) -> None:
        """Call before a step that will be read."""
        self._before[:] = self._velocity

    def read(
        self,
        out: dict[str, np.ndarray],
        frame: int,
        drive_nm: np.ndarray,
        braking: np.ndarray,
        armature: np.ndarray,
        value_of: Callable[[str], np.ndarray],
    ) -> None:
        """Write the channels of `frame`, after the first step from it.

        Args:
            out: channel -> (slots, frames, 1).
            drive_nm: (slots, dofs) torque of the drive's motors at standstill in that step; zeros without a drive.
            braking: (slots, dofs) how much of it is lost per rad/s.
            armature: (slots, dofs) rotor inertia.
            value_of: fit variable -> (slots,) its values.
        """
        standstill = drive_nm + self._forces["qfrc_actuator"]
        for channel, dof in zip(self._channels, self._dofs, strict=True):
            effort: EffortConfig = channel.effort
            if effort.side == "motor":
                torque = standstill[:, dof] - braking[:, dof] * self._velocity[:, dof]
            else:
                acceleration = (self._velocity[:, dof] - self._before[:, dof]) / self._timestep_s
                torque = standstill[:, dof] + self._losses(dof) - armature[:, dof] * acceleration
            value = torque / effort.torque_per_unit(value_of)
            out[channel.name][:, frame, 0] = value + (value_of(effort.bias) if effort.bias else 0.0)

    def repeat_last(self, out: dict[str, np.ndarray]) -> None:
        """Copy the values of the last frame from the frame before, because no step follows it."""
        for channel in self._channels:
            rows = out[channel.name]
            if rows.shape[1] > 1:
                rows[:, -1] = rows[:, -2]

    def _losses(self, dof: int) -> np.ndarray:
        """Damping (viscous friction and the drive's braking) and dry friction, as torques. Contacts would be part of
        it, so this holds for an arm that touches nothing."""
        return self._forces["qfrc_passive"][:, dof] + self._forces["qfrc_constraint"][:, dof]


def value_reader(variables: Mapping[str, FitVariable], by_name: Mapping[str, np.ndarray], width: int):
    """Fit variable -> (slots,) values: those of this simulation, or the bench's own."""
    return lambda name: by_name[name] if name in by_name else np.full(width, variables[name].value)

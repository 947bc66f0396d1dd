"""Friction of a geared servo: Coulomb, viscous, Stribeck, and a part that grows with the load on the gears.

    limit = coulomb + |load_motor · torque + load_outside · bias| + exp(-|speed / stribeck_speed|) · (the same for
            the Stribeck terms)

The two load terms separate driving from being driven, as in M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended
Friction Models for the Physics Simulation of Servo Actuators", ICRA 2025. Below this limit a joint at rest stays at
rest; a moving joint is braked with the limit.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.simulate.drives.fit_variable import FitVariable

Values = Mapping[str, np.ndarray]
"""Fit variable -> an array over simulations and joints."""

SLOW = "slow motions that reverse often, across the working range"
STICK = "creeping starts from rest, and slow reversals"
HEAVY = "the same slow motions with different loads, lifted and lowered"

FRICTION = (
    FitVariable("coulomb_nm", "N·m", 0.02, 0.0, 1.0, SLOW, row="joint_friction_nm"),
    FitVariable("viscous_nms_rad", "N·m·s/rad", 0.005, 0.0, 2.0, "fast motion with the motor off, or at several speeds",
         row="joint_damping_nms_rad"),
    FitVariable("stribeck_nm", "N·m", 0.0, 0.0, 0.5, STICK),
    FitVariable("stribeck_speed_rad_s", "rad/s", 0.3, 0.05, 5.0, STICK, log=True),
    FitVariable("load_motor", "1", 0.0, 0.0, 0.9, HEAVY),
    FitVariable("load_outside", "1", 0.0, 0.0, 0.9, HEAVY),
    FitVariable("stribeck_load_motor", "1", 0.0, 0.0, 1.0, HEAVY),
    FitVariable("stribeck_load_outside", "1", 0.0, 0.0, 1.0, HEAVY),
)  # fmt: skip


class Friction:
    """The friction limit of one rollout. Terms that are zero in all simulations are left out."""

    def __init__(self, values: Values):
        self._values = values
        self._load = bool(np.any(values["load_motor"]) or np.any(values["load_outside"]))
        self._stribeck_load = bool(np.any(values["stribeck_load_motor"]) or np.any(values["stribeck_load_outside"]))
        self._stribeck = self._stribeck_load or bool(np.any(values["stribeck_nm"]))

    def limit(self, torque: np.ndarray, bias: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """The largest torque that friction can resist. `bias`: gravity and inertial torque on the joint."""
        values = self._values
        limit = values["coulomb_nm"]
        if self._load:
            limit = limit + np.abs(values["load_motor"] * torque + values["load_outside"] * bias)
        if self._stribeck:
            static = values["stribeck_nm"]
            if self._stribeck_load:
                static = static + np.abs(
                    values["stribeck_load_motor"] * torque + values["stribeck_load_outside"] * bias
                )
            limit = limit + np.exp(-np.abs(speed) / values["stribeck_speed_rad_s"]) * static
        return limit

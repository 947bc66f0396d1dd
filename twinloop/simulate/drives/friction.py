"""Friction of a geared servo: Coulomb, viscous, Stribeck, and a part that grows with the load on the gears.

    limit = coulomb + |load_motor · torque + load_outside · bias| + exp(-|speed / stribeck_speed|) · (the same for
            the Stribeck terms)

The two load terms separate driving from being driven, as in M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended
Friction Models for the Physics Simulation of Servo Actuators", ICRA 2025. Below this limit a joint at rest stays at
rest; a moving joint is braked with the limit.
"""

from collections.abc import Mapping

import numpy as np

Values = Mapping[str, np.ndarray]
"""Fit variable -> an array over simulations and joints."""


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

"""Friction of a geared servo: Coulomb, viscous, Stribeck, and the part that grows with the load on the gears.

    limit = coulomb + |load_motor · torque + load_outside · bias| + exp(-|speed / stribeck_speed|) · (the same for
            the Stribeck terms)

The two load terms tell driving from being driven, as in M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended
Friction Models for the Physics Simulation of Servo Actuators", ICRA 2025. The engine holds a joint that this limit
can hold, and brakes with the limit one that moves.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.calibrate.models.knob import Knob

Values = Mapping[str, np.ndarray]
"""Knob -> (simulations, joints)."""

SLOW = "slow motions that reverse often, across the working range"
STICK = "creeping starts from rest, and slow reversals"
HEAVY = "the same slow motions with different loads, lifted and lowered"

FRICTION = (
    Knob("coulomb_nm", "N·m", 0.02, 0.0, 1.0, SLOW, row="joint_friction_nm"),
    Knob("viscous_nms_rad", "N·m·s/rad", 0.005, 0.0, 2.0, "fast motion with the motor off, or at several speeds",
         row="joint_damping_nms_rad"),
    Knob("stribeck_nm", "N·m", 0.0, 0.0, 0.5, STICK),
    Knob("stribeck_speed_rad_s", "rad/s", 0.3, 0.05, 5.0, STICK, log=True),
    Knob("load_motor", "1", 0.0, 0.0, 0.9, HEAVY),
    Knob("load_outside", "1", 0.0, 0.0, 0.9, HEAVY),
    Knob("stribeck_load_motor", "1", 0.0, 0.0, 1.0, HEAVY),
    Knob("stribeck_load_outside", "1", 0.0, 0.0, 1.0, HEAVY),
)  # fmt: skip


def friction_limit(values: Values, torque: np.ndarray, bias: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """The largest torque that friction holds with. `bias`: what gravity and inertia ask of the motor."""
    moving = values["coulomb_nm"] + np.abs(values["load_motor"] * torque + values["load_outside"] * bias)
    sticking = values["stribeck_nm"] + np.abs(
        values["stribeck_load_motor"] * torque + values["stribeck_load_outside"] * bias
    )
    return moving + np.exp(-np.abs(speed) / values["stribeck_speed_rad_s"]) * sticking

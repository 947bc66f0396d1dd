"""Rows of the actuation gap: how motors and gears change a command.

Rows without a function here are read by `simulate/drive.py`, which processes commands between actor and motors.
"""

import numpy as np

from twinloop.randomize.parameter import Parameter, Rows


def _motor_strength(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    cells = np.ix_(ids, rows.twin.arm_controls)
    rows["actuator_forcerange"][cells] *= scale[:, None, None]


ACTUATION = (
    Parameter("motor_strength_scale", "actuation", "actuation", "×", "largest torque of every arm joint",
              1.0, (0.7, 1.0), "engineering estimate: a supply up to 30 % low", (0.05, 3.0), apply=_motor_strength),
    Parameter("control_noise_mrad", "actuation", "actuation", "mrad", "white noise on every joint's target",
              0.0, (0.0, 2.0), "engineering estimate: about one count of 4,096 a turn, 1.53 mrad", (0.0, 200.0)),
    Parameter("control_drift_mrad", "actuation", "actuation", "mrad", "slow noise on every joint's target",
              0.0, (0.0, 5.0), "engineering estimate: a position loop that tracks unevenly, 0.3°", (0.0, 200.0)),
    Parameter("backlash_mrad", "actuation", "actuation", "mrad", "play of every gear: what a reversal has to cross",
              0.0, (0.0, 10.0), "engineering estimate: strain-wave gears (0.3 mrad, 1 arcmin) to hobby servos (0.5°)",
              (0.0, 200.0)),
    Parameter("compliance_mrad_nm", "actuation", "actuation", "mrad/(N·m)", "give of every joint under torque",
              0.0, (0.0, 0.3), "engineering estimate: 3,000 N·m/rad, a small strain-wave gear, to rigid", (0.0, 50.0)),
    Parameter("gear_ripple_mrad", "actuation", "actuation", "mrad", "error of every gear that repeats 16 times a turn",
              0.0, (0.0, 1.0), "engineering estimate: strain-wave gears, 1 to 3 arcmin", (0.0, 100.0)),
    Parameter("heat_fade_share", "actuation", "actuation", "1", "share of its torque that a joint loses when it is hot",
              0.0, (0.0, 0.3), "copper's resistance grows 0.39 % a kelvin: 24 % less current when 80 K warmer",
              (0.0, 0.95)),
)  # fmt: skip

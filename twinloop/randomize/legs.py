"""Rows of robots with a free base: ground, payload, pushes and the IMU.

Rows of driven joints, commands and encoders are those of arms (`robots=DRIVEN`).
"""

import numpy as np

from twinloop.randomize.hooks import BaseMotion, Readings, Rows
from twinloop.randomize.parameter import MOBILE, Morphology, Parameter

LEGS: tuple[Morphology, ...] = ("legs",)
ANGULAR = slice(3, 6)
GOLDEN = (np.sqrt(5) - 1) / 2


def _ground_friction(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    # The ground has priority over the feet, so its friction is that of the contact.
    rows["geom_friction"][ids, rows.twin.ground_geom, 0] = values  # pyright: ignore


def _payload(rows: Rows, ids: np.ndarray, values: np.ndarray) -> None:
    """Add a point mass to the base. Its inertia about the base's centre of mass grows by the parallel axes."""
    payload_kg, shift_m = values[:, 0], values[:, 1:] / 100
    body = rows.twin.base_body  # pyright: ignore
    mass, place, inertia = rows["body_mass"], rows["body_ipos"], rows["body_inertia"]
    own = mass[ids, body]
    total = own + payload_kg
    centre = np.column_stack([shift_m, np.zeros(len(ids))])
    apart = centre - place[ids, body]
    reduced = own * payload_kg / total
    x, y, z = np.square(apart).T
    inertia[ids, body] += reduced[:, None] * np.column_stack([y + z, x + z, x + y])
    place[ids, body] += (payload_kg / total)[:, None] * apart
    mass[ids, body] = total


def _push(motion: BaseMotion, values: np.ndarray) -> None:
    """Change the velocity of the base once in every interval, each time in another direction."""
    speed, interval_s = values.T
    ticks = np.maximum(np.round(interval_s / motion.control_period_s), 1)
    number, rest = np.divmod(motion.tick + np.floor(ticks * motion.chance), ticks)
    due = (rest == 0) & (motion.tick > 0)
    angle = 2 * np.pi * np.mod(motion.chance + GOLDEN * number, 1)
    motion.velocity_m_s[due, 0] += (speed * np.cos(angle))[due]
    motion.velocity_m_s[due, 1] += (speed * np.sin(angle))[due]


def _gyro_bias(readings: Readings, bias_mrad_s: np.ndarray) -> None:
    readings.add("inertial", 1e-3 * np.asarray(bias_mrad_s), ANGULAR)


def _attitude_bias(readings: Readings, bias_deg: np.ndarray) -> None:
    readings.add("attitude", np.array([*np.deg2rad(bias_deg), 0.0]))


def _velocity_noise(readings: Readings, noise_rad_s: np.ndarray) -> None:
    shape = (readings.frames, readings.twin.joints)
    readings.add("velocity", noise_rad_s * readings.rng("velocity").standard_normal(shape, np.float32))


LEG_ROWS = (
    Parameter("ground_friction_coefficient", "physics", "contact", "1", "friction of feet or wheels on the ground",
              0.8, (0.3, 1.25),
              "0.1 to 1.25 in the `g1` config of unitree_rl_gym, without its ice; rubber on concrete sticks with 0.3 "
              "wet and 1.0 dry (Boal, cited in hypertextbook.com)",
              (0.02, 3.0), apply=_ground_friction, robots=MOBILE),
    Parameter("payload_kg", "physics", "object", "kg", "mass that the base carries", 0.0, (0.0, 3.0),
              "-1 to 3 kg in the `g1` config of unitree_rl_gym; the Go2 carries up to about 8 kg", (-2.0, 20.0),
              apply=_payload, beside=("payload_shift_cm.x", "payload_shift_cm.y"), robots=MOBILE),
    Parameter("payload_shift_cm", "physics", "object", "cm", "where the payload lies, from the middle of the base",
              0.0, (-5.0, 5.0),
              "±5 cm of the base's centre of mass in Isaac Lab's velocity tasks, ±10 cm in walk-these-ways",
              (-30.0, 30.0), ("x", "y"),
              needs="payload_kg", robots=MOBILE),
    Parameter("push_speed_m_s", "environment", "environment", "m/s", "change of the base's velocity by each push",
              0.0, (0.0, 0.5),
              "±0.5 m/s in Isaac Lab's velocity tasks (3ad18a8) and in walk-these-ways; Rudin et al. 2022 train "
              "with 1",
              (0.0, 5.0), on_base=_push, beside=("push_interval_s",), robots=LEGS),
    Parameter("push_interval_s", "environment", "environment", "s", "time from push to push", 5.0, (4.0, 8.0),
              "5 s in the `g1` config of unitree_rl_gym", (0.2, 600.0), needs="push_speed_m_s", robots=LEGS),
    Parameter("gyro_bias_mrad_s", "sensing", "sensing", "mrad/s", "constant error of the turn rate of the base's IMU",
              0.0, (-10.0, 10.0),
              "MPU-6050 specification, 6.1: the zero-rate output moves by up to 20 °/s from -40 to 85 °C; 10 mrad/s is "
              "that of 4 K",
              (-500.0, 500.0), ("x", "y", "z"), on_reading=_gyro_bias, robots=LEGS),
    Parameter("attitude_bias_deg", "sensing", "sensing", "°", "constant error of the base's roll and pitch",
              0.0, (-1.0, 1.0),
              "MPU-6050 specification, 6.2: the zero-g level moves by up to 35 mg from 0 to 70 °C, a tilt of 2°; half "
              "of it", (-20.0, 20.0), ("x", "y"),
              on_reading=_attitude_bias, robots=LEGS),
    Parameter("joint_velocity_noise_rad_s", "sensing", "sensing", "rad/s", "white noise of every joint's velocity",
              0.0, (0.0, 0.5), "1.5 rad/s at the `go2` config of unitree_rl_gym; encoders read at 500 Hz have less",
              (0.0, 20.0), on_reading=_velocity_noise, robots=LEGS),
    Parameter("terrain_level_share", "environment", "environment", "1",
              "difficulty of the patch of ground where the robot starts: 0 is the easiest, 1 the hardest",
              0.0, (0.0, 1.0), "all patches of the ground", (0.0, 1.0), lays_out=True, robots=LEGS),
)  # fmt: skip

"""Rows of robots on wheels: wheels and odometry, the lidar, and the room with its furniture and people.

Payload, floor and delays are rows of legged robots and arms too.
"""

import numpy as np

from twinloop.randomize.hooks import Readings, Rows
from twinloop.randomize.parameter import Morphology, Parameter

WHEELS: tuple[Morphology, ...] = ("wheels",)
SLIP_MEMORY_S = 1.0
"""Slip changes in this time: joints of tiles, edges of carpets."""
BORENSTEIN = "Borenstein and Feng, 'Measurement and Correction of Systematic Odometry Errors in Mobile Robots', 1996"
RPLIDAR = "Slamtec's datasheet of the RPLIDAR A2M8"


def _wheel_radius(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    cells = np.ix_(ids, rows.twin.wheel_geoms)  # pyright: ignore
    rows["geom_size"][(*cells, 0)] *= scale
    rows["geom_rbound"][cells] *= scale


def _track(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    rows["body_pos"][(*np.ix_(ids, rows.twin.wheel_bodies), 1)] *= scale[:, None]  # pyright: ignore


def _slip(readings: Readings, share: np.ndarray) -> None:
    """Wheels turn further than they roll, by a share that changes with an exponential memory."""
    from scipy.signal import lfilter  # its import takes half a second

    white = readings.rng("slip").standard_normal((readings.frames, 2))
    keep = np.exp(-readings.twin.control_period_s / SLIP_MEMORY_S)
    white[1:] *= np.sqrt(1 - keep**2)
    slip = lfilter([1.0], [1.0, -keep], white, axis=0)
    readings.multiply("wheel", 1 + share * np.abs(slip))


def _heading_drift(readings: Readings, drift_deg_s: np.ndarray) -> None:
    readings.add("heading", np.deg2rad(drift_deg_s) * readings.seconds)


def _lidar_noise(readings: Readings, share: np.ndarray) -> None:
    readings.multiply("lidar", 1 + share * readings.noise["lidar"])


def _lidar_bias(readings: Readings, bias_mm: np.ndarray) -> None:
    readings.add("lidar", 1e-3 * np.asarray(bias_mm))


def _lidar_dropout(readings: Readings, share: np.ndarray) -> None:
    shape = readings.noise["lidar"].shape
    readings.silence("lidar", readings.rng("lidar_dropout").random(shape, np.float32) < share)


def _lidar_yaw(readings: Readings, yaw_deg: np.ndarray) -> None:
    readings.add("lidar_yaw", np.deg2rad(yaw_deg))


WHEEL_ROWS = (
    Parameter("wheel_radius_scale", "actuation", "actuation", "×", "radius of the left and the right wheel",
              1.0, (0.98, 1.02), f"worn or soft tyres; unequal wheels are a main systematic error in {BORENSTEIN}",
              (0.5, 2.0), ("left", "right"), apply=_wheel_radius, robots=WHEELS),
    Parameter("track_scale", "actuation", "actuation", "×", "distance of the points where the wheels touch the floor",
              1.0, (0.97, 1.03), f"wide tyres touch the floor anywhere in their width; {BORENSTEIN}",
              (0.5, 2.0), apply=_track, robots=WHEELS),
    Parameter("wheel_slip_share", "physics", "contact", "1", "share by which wheels turn further than they roll",
              0.0, (0.0, 0.04), "engineering estimate: a few per cent on carpet and at joints of tiles", (0.0, 0.9),
              on_reading=_slip, robots=WHEELS),
    Parameter("odometry_drift_deg_s", "sensing", "sensing", "°/s", "drift of the heading that the odometry reports",
              0.0, (-0.2, 0.2),
              "MPU-6050 specification, 6.1: the zero-rate output moves by 20 °/s over 125 K, 0.16 °/s a kelvin: "
              "little more than a kelvin since the calibration at rest",
              (-20.0, 20.0),
              on_reading=_heading_drift, robots=WHEELS),
    Parameter("lidar_noise_share", "sensing", "sensing", "1", "white noise of each ray, as a share of its distance",
              0.0, (0.0, 0.01), f"errors below 1 % of the distance: {RPLIDAR}", (0.0, 0.5), on_reading=_lidar_noise,
              robots=WHEELS),
    Parameter("lidar_bias_mm", "sensing", "sensing", "mm", "constant error of all distances of the lidar",
              0.0, (-20.0, 20.0), "±15 mm below 0.5 m in the specification of the LDS-01 lidar", (-500.0, 500.0),
              on_reading=_lidar_bias, robots=WHEELS),
    Parameter("lidar_dropout_share", "sensing", "sensing", "1", "share of rays without an echo, which read the longest "
              "distance", 0.0, (0.0, 0.05),
              "aerial_gym_simulator drops 1 % of the echoes of its OS-Dome lidar where noise is on; black, glossy and "
              "glass surfaces lose more (estimate)", (0.0, 1.0),
              on_reading=_lidar_dropout, robots=WHEELS),
    Parameter("lidar_yaw_deg", "sensing", "sensing", "°", "turn of the lidar on its mount", 0.0, (-2.0, 2.0),
              "aerial_gym_simulator turns its lidar within ±5° on the mount; screwed on by hand with an edge less "
              "(estimate)",
              (-180.0, 180.0), on_reading=_lidar_yaw,
              robots=WHEELS),
    Parameter("room_size_m", "environment", "environment", "m", "inner length and width of the room", 6.0, (5.0, 8.0),
              "engineering estimate: rooms of 25 to 64 m²", (2.0, 20.0), ("x", "y"), lays_out=True, robots=WHEELS),
    Parameter("furniture_count", "environment", "environment", "1", "pieces of furniture in the room, rounded down",
              4.0, (0.0, 8.99), "engineering estimate: a cupboard to an open-plan office", (0.0, 10.99), lays_out=True,
              robots=WHEELS),
    Parameter("passage_m", "environment", "environment", "m", "least gap between pieces of furniture, and to walls",
              0.8, (0.7, 1.2), "0.8 m is the least clear width of doors in ISO 21542; the base is 0.35 m wide",
              (0.0, 3.0), lays_out=True, robots=WHEELS),
    Parameter("people_count", "human", "human", "1", "people who walk in the room, rounded down", 0.0, (0.0, 3.99),
              "CrowdNav trains with 5 people in a square of 10 or 15 m (versions of its env.config): 0.6 to 3.2 in a "
              "room of 25 to 64 m²", (0.0, 4.99), lays_out=True, robots=WHEELS),
    Parameter("person_speed_m_s", "human", "human", "m/s", "how fast people walk", 0.8, (0.3, 1.2),
              "1.2 to 1.4 m/s is usual outdoors (Bohannon 1997); slower in rooms", (0.0, 3.0), needs="people_count",
              robots=WHEELS),
    Parameter("person_yield_m", "human", "human", "m", "distance before a person at which a robot makes her stop",
              0.5, (0.3, 0.8),
              "40 people came to 0.48 m of a small robot, near the 0.45 m of Hall's personal space (arXiv 2009.01818); "
              "0 is inattentive",
              (0.0, 3.0), needs="people_count", robots=WHEELS),
)  # fmt: skip

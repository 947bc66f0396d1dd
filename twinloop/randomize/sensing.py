"""Rows of the sensing gap: errors and delays of sensors. They change the recording, never the physics.

`observe/sensor_errors.py` is the stage they act in.
"""

import numpy as np

from twinloop.randomize.hooks import Readings
from twinloop.randomize.parameter import DRIVEN, Parameter
from twinloop.randomize.uses import CellTruth, Picture

OUTAGE_S = 0.2  # a tracker that has lost the object finds it again after about this long
DRIFT_S = 10.0
LINEAR, ANGULAR = slice(0, 3), slice(3, 6)


def _encoder_noise(readings: Readings, noise_mrad: np.ndarray) -> None:
    readings.add("position", noise_mrad * readings.noise["encoder"])


def _encoder_bias(readings: Readings, bias_mrad: np.ndarray) -> None:
    readings.add("position", readings.noise["encoder_bias"] * bias_mrad)


def _encoder_offset(readings: Readings, offset_mrad: np.ndarray) -> None:
    readings.add("position", offset_mrad)


def _encoder_step(readings: Readings, step_mrad: np.ndarray) -> None:
    readings.round("position", 1e-3 * float(step_mrad))


def _effort_noise(readings: Readings, noise_nm: np.ndarray) -> None:
    readings.add("effort", noise_nm * readings.noise["effort"])


def _tracker_noise(readings: Readings, noise_mm: np.ndarray) -> None:
    readings.add("tracker", noise_mm * readings.noise["tracker"])


def _tracker_turn_noise(readings: Readings, noise_deg: np.ndarray) -> None:
    readings.add("tracker_turn", np.deg2rad(noise_deg) * readings.noise["tracker_turn"])


def _tracker_delay(readings: Readings, delay_ms: np.ndarray) -> None:
    readings.delay_ms("tracked", float(delay_ms))


def _tracker_loss(readings: Readings, share: np.ndarray) -> None:
    """A tracker loses the object for several frames: a two-state Markov chain."""
    if share == 0:
        return
    chance, lost = readings.noise["outage"], np.zeros(readings.frames, bool)
    find = min(1.0, readings.twin.control_period_s / OUTAGE_S)
    lose = min(1.0, find * float(share) / max(1 - float(share), 1e-9))
    for frame in range(1, readings.frames):
        lost[frame] = chance[frame] > find if lost[frame - 1] else chance[frame] < lose
    readings.lose("tracked", lost)


def drift(readings: Readings, size: np.ndarray, name: str) -> np.ndarray:
    """(frames, elements) a constant offset plus a drift as a sensor warms up."""
    start, slope = readings.noise[name]
    return size * (start + slope * readings.seconds / DRIFT_S)


def _force_noise(readings: Readings, noise_n: np.ndarray) -> None:
    readings.add("wrench", readings.noise["wrench"][:, LINEAR] * noise_n, LINEAR)


def _torque_noise(readings: Readings, noise_nm: np.ndarray) -> None:
    readings.add("wrench", readings.noise["wrench"][:, ANGULAR] * noise_nm, ANGULAR)


def _force_drift(readings: Readings, drift_n: np.ndarray) -> None:
    readings.add("wrench", drift(readings, drift_n, "wrench_drift"), LINEAR)


def _accelerometer(readings: Readings, values: np.ndarray) -> None:
    readings.add("inertial", values[0] * _walking(readings, values[1])[:, LINEAR], LINEAR)


def _gyro(readings: Readings, values: np.ndarray) -> None:
    readings.add("inertial", 1e-3 * values[0] * _walking(readings, values[1])[:, ANGULAR], ANGULAR)


def _walking(readings: Readings, walk_per_s: float) -> np.ndarray:
    """(frames, 6) white noise and the random walk of a bias, in units of the noise."""
    steps = np.cumsum(readings.noise["inertial_walk"], axis=0)
    return readings.noise["inertial"] + walk_per_s * np.sqrt(readings.twin.control_period_s) * steps


SENSING = (
    Parameter("encoder_noise_mrad", "sensing", "sensing", "mrad", "white noise of every joint's position",
              0.0, (0.0, 1.0),
              "rounding of 12 bit a turn is 0.44 mrad rms; an ams AS5600 adds 0.015 to 0.043° rms, 0.26 to 0.75 mrad, "
              "by its filter setting (table in c0ffee2code/AS5600)",
              (0.0, 100.0), truth=CellTruth(1.5), on_reading=_encoder_noise, robots=DRIVEN),
    Parameter("encoder_bias_mrad", "sensing", "sensing", "mrad", "constant error of every joint's position, up to this",
              0.0, (0.0, 5.0),
              "estimate for arms with absolute encoders; fits to an XL330 found 9 to 18 mrad "
              "(benchmarks/reality.py) and walk-these-ways draws 20 mrad, so widen it for such servos",
              (0.0, 200.0),
              truth=CellTruth(8.0), on_reading=_encoder_bias, robots=DRIVEN, scattered=True),
    Parameter("encoder_step_mrad", "sensing", "sensing", "mrad", "smallest step a joint's position is told in",
              0.0, (0.0, 1.6), "a turn in 4,096 steps is 1.53 mrad", (0.0, 100.0), on_reading=_encoder_step,
              robots=DRIVEN),
    Parameter("effort_noise_nm", "sensing", "sensing", "N·m", "white noise of every joint's torque",
              0.0, (0.0, 0.5),
              "a Panda's joint sensors have 0.005 N·m rms and are right within 0.15 N·m (Franka Emika data sheet); "
              "torque from motor current is worse (estimate)",
              (0.0, 50.0), truth=CellTruth(0.5),
              on_reading=_effort_noise),
    Parameter("tracker_noise_mm", "sensing", "sensing", "mm", "white noise of the tracked object's position",
              0.0, (0.0, 3.0),
              "AprilTags from 0.3 to 1 m: 0.4 to 0.7 mm sideways, 0.9 to 3.3 mm in depth (Roboception rc_visard "
              "manual, table 7.3.4)",
              (0.0, 200.0), truth=CellTruth(4.0), on_reading=_tracker_noise),
    Parameter("tracker_turn_noise_deg", "sensing", "sensing", "°", "white noise of the tracked object's orientation",
              0.0, (0.0, 3.0),
              "ArUco tags in a picture of 640 × 480: yaw jitters by up to 10° from the front (stackoverflow.com, "
              "question 74103948), less at a slant (estimate)",
              (0.0, 90.0), truth=CellTruth(4.0), on_reading=_tracker_turn_noise),
    Parameter("tracker_delay_ms", "sensing", "sensing", "ms", "how old the tracked pose is",
              0.0, (0.0, 100.0),
              "PhotonVision's SimCameraProperties: tags of a webcam on a Raspberry Pi 4 or of a Limelight 2 are 30 "
              "± 10 to 65 ± 15 ms old; two deviations more is 95 ms",
              (0.0, 2000.0),
              truth=CellTruth(120.0), on_reading=_tracker_delay),
    Parameter("tracker_loss_share", "sensing", "sensing", "1", "share of time in which the tracker has lost the object",
              0.0, (0.0, 0.1),
              "robogym loses its cube with a probability of 0.02 a second for 1 s, 2 % of the time, and finger "
              "markers with 0.2, 17 %",
              (0.0, 0.95),
              truth=CellTruth(0.25),
              picture=Picture("tracker", over=(0.0, 0.3),
                              why="Up to the value at which most episodes lose the object."), on_reading=_tracker_loss),
    Parameter("force_noise_n", "sensing", "sensing", "N", "white noise of the wrist's force",
              0.0, (0.0, 0.2),
              "0.035 N rms in the Franka Emika Panda's data sheet, 0.044 N rms at 100 Hz of X-Tech's wrist sensor "
              "of 1,000 N; cheaper ones more (estimate)",
              (0.0, 50.0), only_with=("wrist",), on_reading=_force_noise),
    Parameter("torque_noise_nm", "sensing", "sensing", "N·m", "white noise of the wrist's torque",
              0.0, (0.0, 0.01),
              "0.005 N·m rms in the Franka Emika Panda's data sheet; cheaper sensors twice that (estimate)",
              (0.0, 5.0), only_with=("wrist",), on_reading=_torque_noise),
    Parameter("force_drift_n", "sensing", "sensing", "N", "offset of the wrist's force, and its drift in ten seconds",
              0.0, (0.0, 1.0),
              "forces of a Franka Emika Panda repeat within 0.15 N (data sheet); ten weighings with a Robotiq FT "
              "300 differed by 0.6 N rms (Universal Robots forum, 'Internal Force Sensor properties'); older ones "
              "more (estimate)",
              (0.0, 50.0),
              only_with=("wrist",), on_reading=_force_drift),
    Parameter("accelerometer_noise_m_s2", "sensing", "sensing", "m/s²", "white noise of the hand's acceleration",
              0.0, (0.0, 0.05),
              "MPU-6050 data sheet: 0.4 mg/√Hz, over 25 Hz 0.02 m/s²; the rest is vibration (estimate)", (0.0, 10.0),
              only_with=("wrist",), on_reading=_accelerometer, beside=("imu_walk_per_s",)),
    Parameter("gyro_noise_mrad_s", "sensing", "sensing", "mrad/s", "white noise of the hand's turn rate",
              0.0, (0.0, 2.0),
              "MPU-6050 data sheet: 0.05 °/s rms is 0.9 mrad/s; the rest is vibration (estimate)", (0.0, 500.0),
              only_with=("wrist",), on_reading=_gyro, beside=("imu_walk_per_s",), robots=DRIVEN),
    Parameter("imu_walk_per_s", "sensing", "sensing", "1/√s", "random walk of the IMU's biases, in units of its noise",
              0.0, (0.0, 0.5),
              "an MPU-6050 had 0.0012 °/s of bias instability and 0.033 °/s of noise, a ratio of 0.04 "
              "(robotics.stackexchange.com, question 8860); warming adds far more (estimate)", (0.0, 10.0),
              only_with=("wrist",),
              picture=Picture(given={"accelerometer_noise_m_s2": 0.05, "gyro_noise_mrad_s": 2.0},
                              why="In units of the noise, which is also varied."), robots=DRIVEN),
)  # fmt: skip

JOINT_SENSING = (
    Parameter("encoder_offset_mrad", "sensing", "sensing", "mrad", "how far a joint's encoder reads too high",
              0.0, (-5.0, 5.0),
              "as encoder_bias_mrad, but known for each joint: demonstrations show it (calibrate/sensor_offsets.py)",
              (-200.0, 200.0), of_joint=True, realistic=False, reach=0.0, on_reading=_encoder_offset, shown_by="rest",
              picture=Picture(over=(0.0, 5.0), why="Too high; too low looks the same.")),
)  # fmt: skip
"""Rows of single joints."""

"""Rows of the sensing gap: errors and delays of sensors. They change the recording, never the physics.

`observe/sensors.py` reads them.
"""

from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import CellTruth, Picture

SENSING = (
    Parameter("encoder_noise_mrad", "sensing", "sensing", "mrad", "white noise of every joint's position",
              0.0, (0.0, 1.0), "rounding of 12 bit a turn is 0.44 mrad rms; as much for the electronics (estimate)",
              (0.0, 100.0), truth=CellTruth(1.5)),
    Parameter("encoder_bias_mrad", "sensing", "sensing", "mrad", "constant error of every joint's position, up to this",
              0.0, (0.0, 5.0), "engineering estimate: joints homed against a stop by hand, 0.3°", (0.0, 200.0),
              truth=CellTruth(8.0)),
    Parameter("encoder_step_mrad", "sensing", "sensing", "mrad", "smallest step a joint's position is told in",
              0.0, (0.0, 1.6), "a turn in 4,096 steps is 1.53 mrad", (0.0, 100.0)),
    Parameter("effort_noise_nm", "sensing", "sensing", "N·m", "white noise of every joint's torque",
              0.0, (0.0, 0.5), "engineering estimate: torque from motor current", (0.0, 50.0), truth=CellTruth(0.5)),
    Parameter("tracker_noise_mm", "sensing", "sensing", "mm", "white noise of the tracked object's position",
              0.0, (0.0, 3.0), "engineering estimate: a 40 mm fiducial seen by a web camera from 0.5 to 1 m",
              (0.0, 200.0), truth=CellTruth(4.0)),
    Parameter("tracker_turn_noise_deg", "sensing", "sensing", "°", "white noise of the tracked object's orientation",
              0.0, (0.0, 3.0), "engineering estimate: a 40 mm fiducial seen by a web camera from 0.5 to 1 m",
              (0.0, 90.0), truth=CellTruth(4.0)),
    Parameter("tracker_delay_ms", "sensing", "sensing", "ms", "how old the tracked pose is",
              0.0, (0.0, 100.0), "engineering estimate: a frame of 30 a second, and a detector", (0.0, 2000.0),
              truth=CellTruth(120.0)),
    Parameter("tracker_loss_share", "sensing", "sensing", "1", "share of time in which the tracker has lost the object",
              0.0, (0.0, 0.1), "engineering estimate: the hand in front of the object", (0.0, 0.95),
              truth=CellTruth(0.25),
              picture=Picture("tracker", over=(0.0, 0.3),
                              why="Up to the value at which most episodes lose the object.")),
    Parameter("force_noise_n", "sensing", "sensing", "N", "white noise of the wrist's force",
              0.0, (0.0, 0.2), "engineering estimate: of the order that makers of six-axis wrist sensors state",
              (0.0, 50.0), only_with=("wrist",)),
    Parameter("torque_noise_nm", "sensing", "sensing", "N·m", "white noise of the wrist's torque",
              0.0, (0.0, 0.01), "engineering estimate: of the order that makers of six-axis wrist sensors state",
              (0.0, 5.0), only_with=("wrist",)),
    Parameter("force_drift_n", "sensing", "sensing", "N", "offset of the wrist's force, and its drift in ten seconds",
              0.0, (0.0, 1.0), "engineering estimate: a sensor that warms up after it was zeroed", (0.0, 50.0),
              only_with=("wrist",)),
    Parameter("accelerometer_noise_m_s2", "sensing", "sensing", "m/s²", "white noise of the hand's acceleration",
              0.0, (0.0, 0.05), "0.1 mg/√Hz over 25 Hz is 0.005 m/s²; the rest is vibration (estimate)", (0.0, 10.0),
              only_with=("wrist",)),
    Parameter("gyro_noise_mrad_s", "sensing", "sensing", "mrad/s", "white noise of the hand's turn rate",
              0.0, (0.0, 2.0), "0.01 °/s/√Hz over 25 Hz is 0.9 mrad/s; the rest is vibration (estimate)", (0.0, 500.0),
              only_with=("wrist",)),
    Parameter("imu_walk_per_s", "sensing", "sensing", "1/√s", "random walk of the IMU's biases, in units of its noise",
              0.0, (0.0, 0.5), "engineering estimate: bias instability of small IMUs", (0.0, 10.0),
              only_with=("wrist",),
              picture=Picture(given={"accelerometer_noise_m_s2": 0.05, "gyro_noise_mrad_s": 2.0},
                              why="In units of the noise, which is also varied.")),
)  # fmt: skip

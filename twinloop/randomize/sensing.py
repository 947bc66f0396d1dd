"""Rows of the sensing gap: what a sensor says of what is there. They change the recording, never the physics.

`observe/sensors.py` reads them.
"""

from twinloop.randomize.parameter import Parameter

SENSING = (
    Parameter("encoder_noise_mrad", "sensing", "sensing", "mrad", "white noise of every joint's position",
              0.0, (0.0, 1.0), "12 to 20 bit encoders", (0.0, 100.0)),
    Parameter("encoder_bias_mrad", "sensing", "sensing", "mrad", "constant error of every joint's position, up to this",
              0.0, (0.0, 5.0), "homing against a stop by hand", (0.0, 200.0)),
    Parameter("encoder_step_mrad", "sensing", "sensing", "mrad", "smallest step a joint's position is told in",
              0.0, (0.0, 1.6), "a turn in 4,096 steps is 1.53 mrad", (0.0, 100.0)),
    Parameter("effort_noise_nm", "sensing", "sensing", "N·m", "white noise of every joint's torque",
              0.0, (0.0, 0.5), "torque from motor current", (0.0, 50.0)),
    Parameter("tracker_noise_mm", "sensing", "sensing", "mm", "white noise of the tracked object's position",
              0.0, (0.0, 3.0), "fiducials seen by a web camera", (0.0, 200.0)),
    Parameter("tracker_turn_noise_deg", "sensing", "sensing", "°", "white noise of the tracked object's orientation",
              0.0, (0.0, 3.0), "fiducials seen by a web camera", (0.0, 90.0)),
    Parameter("tracker_delay_ms", "sensing", "sensing", "ms", "how old the tracked pose is",
              0.0, (0.0, 100.0), "30 frames a second and a detector", (0.0, 2000.0)),
    Parameter("tracker_loss_share", "sensing", "sensing", "1", "share of time in which the tracker has lost the object",
              0.0, (0.0, 0.1), "the hand in front of the object", (0.0, 0.95)),
)  # fmt: skip

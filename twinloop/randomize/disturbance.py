"""Rows of external disturbances: a person who moves the object, and a tracker with a biased frame.

`simulate/cell.py` reads the rows of the moved object, `observe/sensor_errors.py` those of the tracker.
"""

from twinloop.randomize.parameter import Parameter

DISTURBANCE = (
    Parameter("object_shift_probability", "human", "human", "1",
              "how often somebody moves the object before the robot has it; an episode draws 0 or 1",
              0.0, (0.0, 1.0), "engineering estimate: often enough to be learnt from", (0.0, 1.0), chance=0.2),
    Parameter("object_shift_cm", "human", "human", "cm", "how far somebody moves the object",
              0.0, (-4.0, 4.0), "engineering estimate: a nudge in passing to a hand's width", (-20.0, 20.0),
              elements=("x", "y"), needs="object_shift_probability"),
    Parameter("object_shift_at_s", "human", "human", "s", "when somebody moves the object",
              0.5, (0.1, 1.0), "while the arm is coming: it takes about a second", (0.0, 60.0),
              needs="object_shift_probability"),
    Parameter("tracker_bias_mm", "sensing", "sensing", "mm", "how far the tracker's frame is off the robot's, sideways",
              0.0, (-5.0, 5.0), "engineering estimate: a camera calibrated to the robot by hand", (-200.0, 200.0),
              elements=("x", "y")),
)  # fmt: skip

"""Rows of external disturbances: a person who moves the object, and a tracker with a biased frame.

`simulate/cell.py` reads the rows of the moved object.
"""

import numpy as np

from twinloop.randomize.bystander import presence
from twinloop.randomize.hooks import Readings
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import CellTruth, Condition, Picture


def _tracker_bias(readings: Readings, bias_mm: np.ndarray) -> None:
    """The tracker's frame is that of all things."""
    readings.add("tracker", np.tile([*bias_mm, 0.0], len(readings.twin.things)))


DISTURBANCE = (
    Parameter("object_shift_probability", "human", "human", "1",
              "how often somebody moves the object before the robot has it; an episode draws 0 or 1",
              0.0, (0.0, 1.0), "engineering estimate: often enough to be learnt from", (0.0, 1.0), chance=0.2,
              condition=Condition("human", presence),
              truth=CellTruth(0.7, name="human_present_share", touches="share of episodes with a person present"),
              picture=Picture("way", given={"object_shift_cm": 4.0, "object_shift_at_s": 0.3},
                              why="The shift is 4 cm in x and y, after 0.3 s.")),
    Parameter("object_shift_cm", "human", "human", "cm", "how far somebody moves the object",
              0.0, (-4.0, 4.0), "engineering estimate: a nudge in passing to a hand's width", (-20.0, 20.0),
              elements=("x", "y"), needs="object_shift_probability",
              truth=CellTruth((3.0, 6.0), plausible=(0.0, 20.0), name="human_shift_cm", elements=(),
                              touches="distance that a person moves the object while the arm approaches"),
              picture=Picture("way", given={"object_shift_probability": 1.0, "object_shift_at_s": 0.3},
                              why="The shift is after 0.3 s.")),
    Parameter("object_shift_at_s", "human", "human", "s", "when somebody moves the object",
              0.5, (0.1, 1.0), "while the arm is coming: it takes about a second", (0.0, 60.0),
              needs="object_shift_probability",
              picture=Picture("way", given={"object_shift_probability": 1.0, "object_shift_cm": 4.0}, over=(0.1, 0.6),
                              why="The shift is 4 cm in x and y. Later than this, the hand has reached the object.")),
    Parameter("tracker_bias_mm", "sensing", "sensing", "mm", "how far the tracker's frame is off the robot's, sideways",
              0.0, (-5.0, 5.0),
              "ArUco distances of a calibrated camera were off by 0.9 mm at 0.5 m and by 6.5 mm at 0.7 m (Herdiansyah "
              "et al., Journal of Fuzzy Systems and Control 2(3), 2024)", (-200.0, 200.0),
              elements=("x", "y"), truth=CellTruth(8.0, plausible=(0.0, 200.0), elements=(),
                              touches="sideways offset of the tracker's frame from the robot's"),
              picture=Picture("tracker", over=(0.0, 5.0), why="To one side; the other side looks the same."),
              on_reading=_tracker_bias, shown_by="grasps"),
)  # fmt: skip

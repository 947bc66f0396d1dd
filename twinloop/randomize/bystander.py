"""Rows of the human gap: a bystander who reaches into the workspace, and how a receiver withdraws.

The rows of the bystander act in any task: they determine the path of the hand (`hand_path.py`). Tasks with a
person read those of the receiver.
"""

from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import Condition, Picture


def presence(drawn: float) -> str:
    return "present" if drawn > 0.5 else ""


BYSTANDER = (
    Parameter("bystander_probability", "human", "human", "1",
              "how often somebody reaches into the workspace; an episode draws 0 or 1",
              0.0, (0.0, 1.0), "engineering estimate: often enough to be learnt from", (0.0, 1.0), chance=0.1,
              builds=("bystander",),
              condition=Condition("human", presence)),
    Parameter("bystander_side_deg", "human", "human", "°",
              "side of the table the arm comes from: 0 opposite the robot, 90 its left, -90 its right",
              0.0, (-90.0, 90.0), "all sides of the table that the robot does not stand at", (-120.0, 120.0),
              needs="bystander_probability"),
    Parameter("bystander_offset_cm", "human", "human", "cm",
              "how far beside the middle of the workspace the arm reaches",
              0.0, (-15.0, 15.0), "half the width of the workspace, by construction of the cell", (-40.0, 40.0),
              needs="bystander_probability"),
    Parameter("bystander_height_cm", "human", "human", "cm", "height of the hand above the table",
              12.0, (5.0, 30.0), "engineering estimate: picking something up to pointing at it", (2.0, 80.0),
              needs="bystander_probability"),
    Parameter("bystander_reach_cm", "human", "human", "cm",
              "how deep the hand reaches past the workspace's edge; 25 is its middle",
              12.0, (0.0, 20.0), "engineering estimate: near things rather than across the table", (0.0, 45.0),
              needs="bystander_probability"),
    Parameter("bystander_arrival_s", "human", "human", "s", "when the hand sets out",
              0.0, (0.0, 4.0), "any time in an episode of about 4 s", (0.0, 60.0), needs="bystander_probability"),
    Parameter("bystander_speed_m_s", "human", "human", "m/s", "fastest speed of the hand on its way in",
              0.6, (0.3, 1.2),
              "ISO 13855 assumes at most 2 m/s of an arm (scope of prEN ISO 13855); most are slower (estimate)",
              (0.05, 3.0),
              needs="bystander_probability"),
    Parameter("bystander_hesitation_s", "human", "human", "s", "how long the hand stops half-way",
              0.0, (0.0, 1.0), "engineering estimate: a glance to a second thought", (0.0, 20.0),
              needs="bystander_probability"),
    Parameter("bystander_stay_s", "human", "human", "s", "how long the hand stays where it reached",
              1.0, (0.3, 2.0), "engineering estimate: taking or putting something", (0.0, 60.0),
              needs="bystander_probability"),
    Parameter("bystander_withdrawal_s", "human", "human", "s", "how long the hand takes to be outside again",
              0.8, (0.4, 1.5), "engineering estimate: startled to leisurely", (0.1, 20.0),
              needs="bystander_probability"),
    Parameter("hand_withdrawal_s", "human", "human", "s",
              "how long a receiver's hand takes to withdraw; 0: as long as it took to come",
              0.0, (0.3, 1.5), "engineering estimate: startled to leisurely", (0.0, 20.0), only_with=("person",),
              picture=Picture("goal", scene="task: handover", given={"hand_patience_s": 1.5},
                              why="The receiver gives up and withdraws the hand.")),
)  # fmt: skip

"""Rows of the human gap: how a person's hand comes, waits and leaves. Tasks with a person read them.

The variation of people's behaviour in handovers is reviewed in V. Ortenzi et al., "Object Handovers: A Review for
Robotics", IEEE T-RO 37(6), 2021. Most ranges are engineering estimates, wide enough for different people.
"""

from twinloop.randomize.parameter import Parameter
from twinloop.randomize.uses import Picture

HUMAN = (
    Parameter("hand_reach_cm", "human", "human", "cm", "where the hand waits, off its usual place",
              0.0, (-6.0, 6.0), "engineering estimate: a forearm's reach from where one stands",
              (-25.0, 25.0), ("x", "y", "z"), only_with=("person",)),
    Parameter("hand_arrival_s", "human", "human", "s", "when the hand sets out",
              0.0, (0.0, 2.0), "engineering estimate: before the robot moves, or after", (0.0, 20.0),
              only_with=("person",)),
    Parameter("hand_speed_m_s", "human", "human", "m/s", "how fast the hand comes and goes",
              0.6, (0.25, 1.2),
              "ISO 13855 assumes at most 2 m/s of an arm (scope of prEN ISO 13855); most are slower (estimate)",
              (0.02, 3.0), only_with=("person",)),
    Parameter("hand_hesitation_s", "human", "human", "s", "how long the hand stops half-way",
              0.0, (0.0, 1.0), "engineering estimate: a glance before the last half of the way", (0.0, 10.0),
              only_with=("person",)),
    Parameter("hand_patience_s", "human", "human", "s", "how long the hand waits before it withdraws",
              20.0, (1.5, 8.0), "engineering estimate: some give up before they are served", (0.0, 60.0),
              only_with=("person",),
              picture=Picture("goal", scene="task: handover")),
    Parameter("hand_turn_deg", "human", "human", "°", "how the hand is turned about the vertical",
              0.0, (-40.0, 40.0), "engineering estimate: from which side the person stands", (-180.0, 180.0),
              only_with=("person",),
              picture=Picture("person", scene="task: handover")),
)  # fmt: skip

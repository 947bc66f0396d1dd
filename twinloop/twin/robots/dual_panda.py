"""Two Franka Pandas side by side at one table, the left one on the side of positive y.

Source: that of each arm (`franka_panda.py`). At a distance of the bases of 0.68 m both hands reach the middle of the
table, and the arms do not touch while each works in front of its own base.
"""

from twinloop.twin.robot_parts.robot_set import Base, robot_set
from twinloop.twin.robots.franka_panda import FRANKA_PANDA

HALF_DISTANCE_M = 0.34

DUAL_PANDA = robot_set(
    "dual_panda",
    {"left": FRANKA_PANDA, "right": FRANKA_PANDA},
    {"left": Base((0.0, HALF_DISTANCE_M, 0.0)), "right": Base((0.0, -HALF_DISTANCE_M, 0.0))},
)

"""Two SO-101 arms side by side at one table, the left one on the side of positive y: a small set for two hands.

Source: that of each arm (`so101.py`). Each arm reaches 0.36 m, so the bases are 0.3 m apart.
"""

from twinloop.twin.robots.robot_set import Base, robot_set
from twinloop.twin.robots.so101 import SO101

HALF_DISTANCE_M = 0.15

DUAL_SO101 = robot_set(
    "dual_so101",
    {"left": SO101, "right": SO101},
    {
        "left": Base((SO101.mount_m[0], HALF_DISTANCE_M, SO101.mount_m[2])),
        "right": Base((SO101.mount_m[0], -HALF_DISTANCE_M, SO101.mount_m[2])),
    },
)

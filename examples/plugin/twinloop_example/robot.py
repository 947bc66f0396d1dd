"""shifted_panda: the Franka Panda, mounted 10 cm further to its left.

A robot of your own has a `build` function that returns its `mujoco.MjSpec`; see docs/extending.md.
"""

from dataclasses import replace

from twinloop.twin.robots.franka_panda import FRANKA_PANDA

SHIFTED_PANDA = replace(FRANKA_PANDA, name="shifted_panda", mount_m=(0.0, 0.1, 0.0))

"""The robots that a config can name: one file each. Packages add more by entry points of `twinloop.robots`."""

from twinloop.plugins import instance_of, load_plugins
from twinloop.twin.robot import Robot
from twinloop.twin.robots.dual_panda import DUAL_PANDA
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.mobile_panda import MOBILE_PANDA
from twinloop.twin.robots.so101 import SO101
from twinloop.twin.robots.ur5e_2f85 import UR5E_2F85
from twinloop.twin.robots.xarm7 import XARM7


def robots() -> dict[str, Robot]:
    builtin = {robot.name: robot for robot in (FRANKA_PANDA, SO101, UR5E_2F85, XARM7, DUAL_PANDA, MOBILE_PANDA)}
    return builtin | load_plugins("twinloop.robots", instance_of(Robot), "a twinloop.Robot", builtin=builtin)

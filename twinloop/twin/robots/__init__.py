"""The robots one can name in a config: each is an object in a file of its own.

A package adds more with an entry point of the group `twinloop.robots` that names a Robot.
"""

from importlib.metadata import entry_points

from twinloop.twin.robot import Robot
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.so101 import SO101


def robots() -> dict[str, Robot]:
    found = {robot.name: robot for robot in (FRANKA_PANDA, SO101)}
    for point in entry_points(group="twinloop.robots"):
        found[point.name] = point.load()
    return found

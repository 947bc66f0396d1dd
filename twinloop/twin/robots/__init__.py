"""The robots that a config can name: one file each. Packages add more by entry points of `twinloop.robots`."""

from twinloop.catalog import Catalog
from twinloop.plugins import instance_of
from twinloop.twin.robot import Robot

_ROBOTS: Catalog[Robot] = Catalog(__name__, "twinloop.robots", instance_of(Robot), "a twinloop.Robot")


def robots() -> Catalog[Robot]:
    """All robots by name."""
    return _ROBOTS

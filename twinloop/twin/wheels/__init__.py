"""Robots on wheels: their models, the rooms they drive in, and the twin of both."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports the physics engine, which the names of the robots do not need
    from twinloop.twin.wheels.wheeled_robot import WheeledRobot

WHEELED = ("diff_drive",)
"""Names of the robots on wheels."""


@cache
def wheeled_robots() -> "Mapping[str, WheeledRobot]":
    """Robots on wheels by name."""
    from twinloop.twin.wheels.diff_drive import DIFF_DRIVE

    return {robot.name: robot for robot in (DIFF_DRIVE,)}

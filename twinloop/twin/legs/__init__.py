"""Robots that walk: their models, the ground they walk on, and the twin of both."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports the physics engine, which the names of the robots do not need
    from twinloop.twin.legs.legged_robot import LeggedRobot

LEGGED = ("quadruped", "humanoid")
"""Names of the legged robots."""


@cache
def legged_robots() -> "Mapping[str, LeggedRobot]":
    """Legged robots by name."""
    from twinloop.twin.legs.humanoid import HUMANOID
    from twinloop.twin.legs.quadruped import QUADRUPED

    return {robot.name: robot for robot in (QUADRUPED, HUMANOID)}

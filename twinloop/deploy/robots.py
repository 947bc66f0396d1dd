"""The robots one can name: `twin`, `twin:CONFIG.yaml`, `rehearsal:CELL`, `lerobot:CONFIG.yaml`."""

from collections.abc import Callable

from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.errors import UsageError, nearest

KINDS: dict[str, Callable[[str], LiveRobot]] = {
    "twin": TwinRobot,
    "rehearsal": lambda cell: RehearsalRobot(cell or "nominal"),
    "lerobot": LerobotRobot,
}

SEVERAL = ("rehearsal", "twin")
"""Kinds that can be had more than once, each in a process of its own."""


def robot_named(name: str) -> LiveRobot:
    """KIND or KIND:WHICH, not connected yet."""
    kind, _, which = name.partition(":")
    if kind not in KINDS:
        raise UsageError(f"robot {name!r}: {kind!r} is no kind of robot; {nearest(kind, KINDS)}")
    return KINDS[kind](which)

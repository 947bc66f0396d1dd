"""The live robots that `--robot` can name: `twin`, `twin:CONFIG.yaml`, `rehearsal:CELL`, `lerobot:CONFIG.yaml`.

Packages add more by entry points of `twinloop.live_robots`. Such an entry point is a class, or a function, that takes
the text after the colon (or "") and returns a `LiveRobot`.
"""

from collections.abc import Callable

from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.errors import UsageError, nearest
from twinloop.plugins import load_plugins

KINDS: dict[str, Callable[[str], LiveRobot]] = {
    "twin": TwinRobot,
    "rehearsal": lambda cell: RehearsalRobot(cell or "nominal"),
    "lerobot": LerobotRobot,
}

SEVERAL = ("rehearsal", "twin")
"""Kinds of which several instances can run, each in its own process."""


def kinds() -> dict[str, Callable[[str], LiveRobot]]:
    """Return kind of live robot -> the function that creates one from the text after the colon."""
    return KINDS | load_plugins(
        "twinloop.live_robots", callable, "a class or function that returns a twinloop.LiveRobot", builtin=KINDS
    )


def robot_named(name: str) -> LiveRobot:
    """Return the robot of a name like KIND or KIND:WHICH, not connected yet."""
    kind, _, which = name.partition(":")
    known = kinds()
    if kind not in known:
        raise UsageError(f"robot {name!r}: unknown kind of robot {kind!r}; {nearest(kind, known)}")
    return known[kind](which)

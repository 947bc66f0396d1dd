"""The live robots that `--robot` can name: `twin`, `twin:CONFIG.yaml`, `rehearsal:CELL`, `lerobot:CONFIG.yaml`.

Packages add more by entry points of `twinloop.live_robots`. Such an entry point is a class, or a function, that takes
the text after the colon (or "") and returns a `LiveRobot`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.mobile_twin_robot import MobileTwinRobot
from twinloop.deploy.rehearsal import cell_name
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.errors import UsageError, nearest
from twinloop.plugins import load_plugins
from twinloop.run.config import load_config
from twinloop.run.mobile import MobileConfig
from twinloop.twin.task import Task
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

if TYPE_CHECKING:
    from twinloop.gate.robot_identity import RobotIdentity


def twin_robot(config: str = "") -> LiveRobot:
    """The twin of a config, "" being the embedded cell."""
    moves_about = bool(config) and isinstance(load_config(Path(config)), MobileConfig)
    return MobileTwinRobot(config) if moves_about else TwinRobot(config)


KINDS: dict[str, Callable[[str], LiveRobot]] = {
    "twin": twin_robot,
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


def identify_hardware(name: str) -> "RobotIdentity | None":
    """The identity of a robot for a decision of the gate; None for a twin or rehearsal cell, and without a name."""
    return None if not name or name.partition(":")[0] in SEVERAL else identify(name)


def identify(name: str) -> "RobotIdentity":
    """Connect to a robot, ask how it describes itself, and disconnect. Nothing moves."""
    robot = robot_named(name)
    try:
        return robot.connect().identity
    finally:
        robot.close()


def with_scene(name: str, *, robot: str = cell_name.PANDA, task: str = cell_name.PICK_AND_PLACE) -> str:
    """Return the name with robot and task, if it is a rehearsal cell whose name says nothing about them."""
    kind, _, which = name.partition(":")
    if kind != "rehearsal":
        return name
    which = which or "nominal"
    completed = cell_name.with_scene(which, robot=robot, task=task)
    return name if completed == which else f"{kind}:{completed}"


def robot_named(name: str | LiveRobot) -> LiveRobot:
    """Return the robot of a name like KIND or KIND:WHICH, not connected yet. A robot object is returned as it is."""
    if not isinstance(name, str):
        return name
    kind, _, which = name.partition(":")
    known = kinds()
    if kind not in known:
        raise UsageError(f"robot {name!r}: unknown kind of robot {kind!r}; {nearest(kind, known)}")
    return known[kind](which)


@dataclass(frozen=True)
class Workplace:
    """A robot, by name or as an object, and the task that it does."""

    robot: str | LiveRobot
    task: Task = PICK_AND_PLACE

    def workers(self, wanted: int) -> int:
        """Return how many workers can use the robot: all if it can run several times, otherwise one."""
        several = isinstance(self.robot, str) and self.robot.partition(":")[0] in SEVERAL
        return wanted if several else 1

"""CellScene: the robot, task, rate and cameras of a rehearsal cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from twinloop.deploy.rehearsal.cell_name import PANDA, PICK_AND_PLACE, SCENE_KEYS
from twinloop.errors import UsageError, nearest
from twinloop.observe.camera import CameraConfig
from twinloop.run.config import load_config
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.tasks import tasks


@dataclass(frozen=True)
class CellScene:
    """Robot and task of a cell. layout: elements of the environment state, if a run has several tasks."""

    robot: Robot = field(default_factory=lambda: robots()[PANDA])
    task: Task = field(default_factory=lambda: tasks()[PICK_AND_PLACE])
    control_hz: int = 25
    cameras: Mapping[str, CameraConfig] = field(default_factory=dict)
    layout: tuple[str, ...] = ()


def scene_of(words: Mapping[str, str], *, where: str) -> CellScene:
    """Return the scene that `robot`, `task` and `config` name.

    Args:
        words: key -> text; a `task` beside a `config` is one of the config's tasks.
        where: what has these keys, for errors.
    """
    words = {key: text for key, text in words.items() if key in SCENE_KEYS and text}
    if "config" in words:
        if "robot" in words:
            raise UsageError(f"{where}: has both robot and config; the config has the robot, remove the key robot")
        config = load_config(Path(words["config"]))
        if "task" in words or not config.scene.is_single:
            config = config.for_task(words.get("task"))
        scene = CellScene(
            config.scene.robot, config.scene.world, config.rollout.control_hz, config.cameras, config.scene.layout
        )
    else:
        scene = CellScene(
            _named("robot", words.get("robot", PANDA), robots(), where),
            _named("task", words.get("task", PICK_AND_PLACE), tasks(), where),
        )
    unfit = unfit_arms(scene.task, scene.robot)
    if unfit:
        raise UsageError(f"{where}: {unfit}")
    soft = [thing.name for thing in scene.task.things if thing.object.cloth]
    if soft:
        raise UsageError(
            f"{where}: task {scene.task.name} has a cloth ({soft[0]}), which rehearsal cells cannot simulate; "
            "choose a task with rigid things"
        )
    return scene


def _named(what: str, name: str, known: Mapping, where: str):
    if name not in known:
        raise UsageError(f"{where}: {what} {name!r}: {nearest(name, known)}")
    return known[name]

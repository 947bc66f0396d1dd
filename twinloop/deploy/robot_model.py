"""The model of a live robot: what the scripted demonstrator, the episode tracker and the safety filter compute with."""

from functools import lru_cache
from pathlib import Path

from twinloop.deploy.rehearsal.cell_name import PANDA, parse_cell_name
from twinloop.run.config import load_config
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms


@lru_cache
def model_named(id: str, robot: str) -> Robot | None:
    """The model of a live robot; None if there is none.

    Args:
        id: of the live robot. A twin or a rehearsal cell may name a config, which has the user's own robot or two
            robots at one table.
        robot: the name of the model.
    """
    known = robots()
    if robot in known:
        return known[robot]
    kind, _, which = id.partition(":")
    if kind == "rehearsal":
        which = parse_cell_name(which).words.get("config", "")
    if kind not in ("twin", "rehearsal") or not which:
        return None
    model = load_config(Path(which)).scene.robot
    return model if model.name == robot else None


def usual_robot(task: Task) -> str:
    """The name of the robot that a cell has if nothing else is said: the Panda, or the first with the task's arms."""
    known = robots()
    fitting = (name for name in (PANDA, *known) if not unfit_arms(task, known[name]))
    return next(fitting, PANDA)

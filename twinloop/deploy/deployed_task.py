"""The tasks that a policy can be deployed for: those at a table, and those of robots that move about."""

from twinloop.deploy.robot import Description
from twinloop.errors import UsageError, nearest
from twinloop.twin.mobile_task import NAVIGATION_TASKS, WALK_TASKS, MobileTask
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


def deployed_tasks() -> dict[str, Task | MobileTask]:
    """Name -> task."""
    return {**tasks(), **WALK_TASKS, **NAVIGATION_TASKS}


def deployed_task(name: str) -> Task | MobileTask:
    known = deployed_tasks()
    if name not in known:
        raise UsageError(f"--task {name!r}: {nearest(name, known)}")
    return known[name]


def task_for(about: Description, name: str | None) -> str:
    """The task of a session: the given one, else the one that the robot is set up for."""
    if name is None:
        return about.task or PICK_AND_PLACE.name
    moves_about = isinstance(deployed_tasks().get(about.task), MobileTask)
    if name != about.task and (moves_about or isinstance(deployed_task(name), MobileTask)):
        raise UsageError(f"--task {name!r}: {about.id} is a {about.robot}, whose task is {about.task or 'at a table'}")
    if about.task and name != about.task:
        raise UsageError(f"--task {name!r}: {about.id} is set up for {about.task}; leave --task out")
    return name

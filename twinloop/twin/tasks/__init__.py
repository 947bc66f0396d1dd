"""The tasks that a config can name: one file each. Packages add more by entry points of `twinloop.tasks`."""

from twinloop.plugins import instance_of, load_plugins
from twinloop.twin.task import Task
from twinloop.twin.tasks.handover import HANDOVER
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


def tasks() -> dict[str, Task]:
    builtin = {task.name: task for task in (PICK_AND_PLACE, HANDOVER)}
    return builtin | load_plugins("twinloop.tasks", instance_of(Task), "a twinloop.Task", builtin=builtin)

"""The tasks one can name in a config: each is an object in a file of its own.

A package adds more with an entry point of the group `twinloop.tasks` that names a Task.
"""

from importlib.metadata import entry_points

from twinloop.twin.task import Task
from twinloop.twin.tasks.handover import HANDOVER
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


def tasks() -> dict[str, Task]:
    found = {task.name: task for task in (PICK_AND_PLACE, HANDOVER)}
    for point in entry_points(group="twinloop.tasks"):
        found[point.name] = point.load()
    return found

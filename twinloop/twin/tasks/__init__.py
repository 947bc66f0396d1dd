"""The tasks that a config can name: one file each. Packages add more by entry points of `twinloop.tasks`."""

from twinloop.catalog import Catalog
from twinloop.plugins import instance_of
from twinloop.twin.task import Task

_TASKS: Catalog[Task] = Catalog(__name__, "twinloop.tasks", instance_of(Task), "a twinloop.Task")


def tasks() -> Catalog[Task]:
    """All tasks by name."""
    return _TASKS

"""The tasks that a config can name: one file each. Packages add more by entry points of `twinloop.tasks`."""

from importlib import import_module
from pkgutil import iter_modules

from twinloop.plugins import instance_of, load_plugins
from twinloop.twin.task import Task


def tasks() -> dict[str, Task]:
    """All tasks by name: the tasks in the files of this folder, and those of other packages."""
    builtin = {}
    for module in iter_modules(__path__):
        members = vars(import_module(f"{__name__}.{module.name}")).values()
        builtin |= {task.name: task for task in members if isinstance(task, Task) and task.name == module.name}
    return builtin | load_plugins("twinloop.tasks", instance_of(Task), "a twinloop.Task", builtin=builtin)

"""The tasks that a config can name: one file each. Packages add more by entry points of `twinloop.tasks`."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from twinloop.plugins import instance_of, load_plugins
from twinloop.twin.task import Task


def tasks() -> Mapping[str, Task]:
    """All tasks by name: the tasks in the files of this folder, and those of other packages."""
    return _Tasks()


@cache
def _file_names() -> tuple[str, ...]:
    """Names of the files of this folder. Read once: a config with many tasks looks them up thousands of times."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


class _Tasks(Mapping[str, Task]):
    """Imports the file of a task when the task is asked for: a run needs few of them, and some take long to import."""

    def __init__(self) -> None:
        self._builtin = _file_names()
        self._added = load_plugins("twinloop.tasks", instance_of(Task), "a twinloop.Task", builtin=self._builtin)

    def __getitem__(self, name: str) -> Task:
        if name not in self._builtin:
            return self._added[name]
        members = vars(import_module(f"{__name__}.{name}")).values()
        task = next((member for member in members if isinstance(member, Task) and member.name == name), None)
        if task is None:
            raise LookupError(f"{__name__}.{name} defines no Task named {name!r}; give file and task the same name")
        return task

    def __contains__(self, name: object) -> bool:
        return name in self._builtin or name in self._added

    def __iter__(self) -> Iterator[str]:
        return iter((*self._builtin, *self._added))

    def __len__(self) -> int:
        return len(self._builtin) + len(self._added)

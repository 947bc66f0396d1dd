"""Catalog: the robots, tasks or policies that users can name, one file of a folder each, and those of other packages.

The files of the folder are the list, so adding one is adding a file. A file has the name of its object; files that
begin with an underscore are no entries. A file is imported when its object is asked for: a run needs few of them, and
some take seconds to import.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from twinloop.errors import ModelError, nearest
from twinloop.plugins import Group, load_plugins, plugin_names

Entry = TypeVar("Entry")
UNKNOWN_NAME = re.compile(r"cannot import name '(\w+)' from '(twinloop[\w.]*)'")


class Catalog(Mapping[str, Entry]):
    """Objects of one kind by name.

    Args:
        package: `__name__` of the package with one file for each object.
        group: the entry points by which other packages add objects.
        valid: whether an object has the kind of this catalog.
        expected: that kind in words, for error messages.
    """

    def __init__(self, package: str, group: Group, valid: Callable[[Any], bool], expected: str):
        self._package, self._valid, self._expected = package, valid, expected
        self._group: Group = group

    @cached_property
    def _files(self) -> tuple[str, ...]:
        folder = Path(str(import_module(self._package).__file__)).parent
        return tuple(sorted(file.name for file in iter_modules([str(folder)]) if not file.name.startswith("_")))

    @cached_property
    def _added(self) -> dict[str, Entry]:
        return load_plugins(self._group, self._valid, self._expected, builtin=self._files)

    def __getitem__(self, name: str) -> Entry:
        added = self._added  # first, so that a package that cannot be loaded is reported by every run
        return self._in_file(name) if name in self._files else added[name]

    def _in_file(self, name: str) -> Entry:
        members = vars(self._imported(name)).values()
        for member in members:
            if self._valid(member) and getattr(member, "name", None) == name:
                return member
        raise LookupError(f"{self._package}.{name}: {self._expected} named {name!r} was expected in this file")

    def _imported(self, name: str) -> ModuleType:
        try:
            return import_module(f"{self._package}.{name}")
        except ImportError as error:
            unknown = UNKNOWN_NAME.match(str(error))
            if unknown is None:
                raise
            # Such as a skill or a relation that does not exist.
            given, module = unknown.groups()
            known = [known for known in vars(import_module(module)) if not known.startswith("_")]
            file = Path(str(import_module(self._package).__file__)).parent / f"{name}.py"
            raise ModelError(f"{file}: imports {given!r} from {module}; {nearest(given, known)}") from error

    def __contains__(self, name: object) -> bool:
        return name in self._files or name in plugin_names(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._files, *plugin_names(self._group)))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

"""Plugins: robots, tasks, parameters, checks, policies, live robots and executors of other packages.

A package adds an object by naming it in an entry point. The name of the entry point is the name users write:

    [project.entry-points."twinloop.robots"]
    my_arm = "my_package.arm:MY_ARM"

All groups are loaded by `load_plugins`. It refuses an object of the wrong type, an object whose own `name` differs
from that of its entry point, and a name that is already taken. Nothing is skipped silently: a package that cannot be
loaded is an error, because the data of a run would depend on it.
"""

import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from sysconfig import get_path
from typing import Any, Literal, get_args

from twinloop.errors import PluginError, nearest

Group = Literal[
    "twinloop.robots",
    "twinloop.tasks",
    "twinloop.parameters",
    "twinloop.checks",
    "twinloop.policies",
    "twinloop.live_robots",
    "twinloop.executors",
    "twinloop.terms",
]
GROUPS: tuple[Group, ...] = get_args(Group)


@lru_cache(maxsize=1)
def _entry_points() -> dict[str, tuple[EntryPoint, ...]]:
    """Group -> its entry points, sorted by name. Read once: reading takes milliseconds for every package."""
    every = entry_points()
    return {group: tuple(sorted(every.select(group=group), key=lambda point: point.name)) for group in GROUPS}


def plugin_names(group: Group) -> tuple[str, ...]:
    """The names that installed packages add to a group. Imports none of these packages."""
    return tuple(point.name for point in _entry_points()[group])


def load_plugins(
    group: Group, valid: Callable[[Any], bool], expected: str, *, builtin: Iterable[str]
) -> dict[str, Any]:
    """Load every entry point of a group.

    Args:
        group: the entry-point group.
        valid: whether a loaded object has the type that this group needs.
        expected: that type in words, for the error message.
        builtin: names that Twinloop itself has in this group; a package may not take them.

    Returns:
        name -> object, sorted by name.

    Raises:
        PluginError: an entry point that cannot be imported, has the wrong type or name, or takes a name that exists.
    """
    plugins: dict[str, Any] = {}
    taken = dict.fromkeys(builtin, "Twinloop itself")
    for point in _entry_points()[group]:
        plugin = _load(group, point)
        if not valid(plugin):
            raise PluginError(f"{_label(group, point)}: is {_described(plugin)}; {expected} was expected")
        name = getattr(plugin, "name", point.name)
        if isinstance(name, str) and name != point.name:
            raise PluginError(
                f"{_label(group, point)}: the object is named {name!r}; "
                f"give the entry point that name, or the object the name {point.name!r}"
            )
        if point.name in taken:
            raise PluginError(
                f"{_label(group, point)}: the name {point.name!r} is already taken by {taken[point.name]}; "
                "rename one of them, or uninstall one package"
            )
        taken[point.name] = _package(point)
        plugins[point.name] = plugin
    return plugins


def plugin_versions(used: Mapping[Group, Iterable[str]]) -> dict[str, str]:
    """Package -> version, of the packages that provide the named plugins.

    Args:
        used: group -> names that a run uses; names that are built in are ignored.
    """
    versions = {}
    for group, names in used.items():
        wanted = set(names)
        for point in _entry_points()[group]:
            if point.name in wanted and point.dist is not None:
                versions[point.dist.name] = point.dist.version
    return versions


def instance_of(kind: type) -> Callable[[Any], bool]:
    return lambda plugin: isinstance(plugin, kind)


def subclass_of(kind: type) -> Callable[[Any], bool]:
    return lambda plugin: isinstance(plugin, type) and issubclass(plugin, kind)


def _load(group: Group, point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever a foreign module raises while it is imported
        problem = f"{type(error).__name__}: {error}"
        raise PluginError(
            f"{_label(group, point)}: cannot be loaded: {_line(error)}{problem}{_known_names(error)}. "
            "Fix or uninstall the package"
        ) from error


def _line(error: Exception) -> str:
    """File and line of the package at which it failed; "" if it was not reached."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_foreign(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""


def _is_foreign(filename: str) -> bool:
    """Whether a file is neither part of Twinloop nor of Python itself."""
    path, stdlib = Path(filename), Path(get_path("stdlib"))
    of_python = path.is_relative_to(stdlib) and "site-packages" not in path.parts
    return not filename.startswith("<") and Path(__file__).parent not in path.parents and not of_python


def _known_names(error: Exception) -> str:
    """The nearest names, if the package imports a skill, relation or other name that its module does not have."""
    missing = re.search(r"cannot import name '(\w+)'", str(error)) if isinstance(error, ImportError) else None
    module = sys.modules.get(getattr(error, "name", None) or "")
    if missing is None or module is None:
        return ""
    own = module.__name__
    known = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith(own)
    ]
    return f"; {nearest(missing[1], known)}"


def _label(group: Group, point: EntryPoint) -> str:
    return f"{_package(point)}: entry point {point.name!r} of {group} ({point.value})"


def _package(point: EntryPoint) -> str:
    return f"package {point.dist.name} {point.dist.version}" if point.dist is not None else "a package without metadata"


def _described(plugin: Any) -> str:
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return f"the class {kind.__qualname__}" if isinstance(plugin, type) else f"an object of type {kind.__qualname__}"

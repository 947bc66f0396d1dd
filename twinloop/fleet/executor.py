"""Executors: one small interface for wherever work runs.

Work is a generator function `work(job, items)` at the top of a module: it pulls items and yields (item, result).
It is a pure function of the job and the item and keeps nothing between them that matters, so an executor may run it
anywhere, in any order, twice, or again after a death.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from twinloop.errors import UsageError, nearest
from twinloop.plugins import load_plugins, plugin_names

Work = Callable[[Any, Iterator[Any]], Iterator[tuple[Any, Any]]]

BUILTIN = ("local", "ray")


class Executor(Protocol):
    """Runs work somewhere: in processes of this machine, on Ray, or wherever a plugin runs it.

    Example:
        >>> from twinloop.fleet.executor import executor_of
        >>> executor: tl.Executor = executor_of("local")
        >>> executor.name, executor.capacity() >= 1
        ('local', True)
    """

    @property
    def name(self) -> str: ...

    def capacity(self) -> int:
        """Workers that can run side by side: how many to use where nobody says."""
        ...

    def sent(self, job: Any) -> Any:
        """The job as `run` may be given it again and again, while it travels once."""
        ...

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        """Yield (item, result) for every item, in the order in which they are done."""
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """Processes on this machine, and with one worker this process."""

    name: str = "local"

    def capacity(self) -> int:
        return os.cpu_count() or 1

    def sent(self, job: Any) -> Any:
        return job

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        from twinloop.fleet.local import run_local

        return run_local(work, job, items, workers=workers)


LOCAL = LocalExecutor()


def executor_names() -> tuple[str, ...]:
    """What `--executor` can name. Imports no executor."""
    return (*BUILTIN, *plugin_names("twinloop.executors"))


def executor_of(name: str, address: str | None = None) -> Executor:
    """The executor of a name. Packages add more by entry points of `twinloop.executors`.

    Such an entry point is a class, or a function, that takes the address (or None) and returns an `Executor`.
    Ray and other packages are imported only if they are named.
    """
    if name == "local":
        if address is not None:
            raise UsageError(f"--address {address}: is that of a Ray cluster; add --executor ray, or leave it out")
        return LOCAL
    if name == "ray":
        from twinloop.fleet.on_ray import RayExecutor

        return RayExecutor(address)
    others = load_plugins(
        "twinloop.executors", callable, "a class or function that returns a twinloop.Executor", builtin=BUILTIN
    )
    if name not in others:
        raise UsageError(f"--executor {name!r}: {nearest(name, executor_names())}")
    return others[name](address)

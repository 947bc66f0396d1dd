"""Executors: the interface for running work on this machine, on Ray or elsewhere.

Work is a generator function `work(job, items)` at the top level of a module. It pulls items and yields (item, result).
A result depends only on the job and the item, and no relevant state is kept between items. An executor may therefore
run items anywhere, in any order, twice, or again after a worker has died.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from twinloop.errors import UsageError, nearest
from twinloop.plugins import load_plugins, plugin_names

Work = Callable[[Any, Iterator[Any]], Iterator[tuple[Any, Any]]]
AnyWork = TypeVar("AnyWork", bound=Work)

BUILTIN = ("local", "ray")


def overlapping(work: AnyWork) -> AnyWork:
    """Mark work that does several items at once. Its iterator of items may yield None: ask again later.

    Executors use it near the end of a run, to leave an item to a worker that is ready sooner. They need not.
    """
    work.__dict__["overlapping"] = True
    return work


def is_overlapping(work: Work) -> bool:
    return "overlapping" in work.__dict__


class Executor(Protocol):
    """Runs work in processes of this machine, on Ray, or by a plugin.

    Example:
        >>> from twinloop.fleet.executor import executor_of
        >>> executor: tl.Executor = executor_of("local")
        >>> executor.name, executor.capacity() >= 1
        ('local', True)
    """

    @property
    def name(self) -> str: ...

    def capacity(self) -> int:
        """Number of workers that can run in parallel; the default number of workers."""
        ...

    def sent(self, job: Any) -> Any:
        """Transfer a job once and return a handle that can be passed to `run` repeatedly."""
        ...

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        """Yield (item, result) for every item, in the order in which they finish."""
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """Runs work in processes on this machine; with one worker, in this process."""

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
    """Return the names that `--executor` accepts, without importing an executor."""
    return (*BUILTIN, *plugin_names("twinloop.executors"))


def executor_of(name: str, address: str | None = None) -> Executor:
    """Return the executor with this name. Packages add executors by entry points of `twinloop.executors`.

    Such an entry point is a class, or a function, that takes the address (or None) and returns an `Executor`.
    Ray and other packages are imported only if they are named.
    """
    if name == "local":
        if address is not None:
            raise UsageError(
                f"--address {address}: only --executor ray uses it; add --executor ray, or remove --address"
            )
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

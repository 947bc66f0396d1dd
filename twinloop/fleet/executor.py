"""Executors: one small interface for wherever work runs.

Work is a generator function `work(job, items)` at the top of a module: it pulls items and yields (item, result).
It is a pure function of the job and the item and keeps nothing between them that matters, so an executor may run it
anywhere, in any order, twice, or again after a death.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from twinloop.errors import UsageError

Work = Callable[[Any, Iterator[Any]], Iterator[tuple[Any, Any]]]

ExecutorName = Literal["local", "ray"]


class Executor(Protocol):
    @property
    def name(self) -> ExecutorName: ...

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

    name: ExecutorName = "local"

    def capacity(self) -> int:
        return os.cpu_count() or 1

    def sent(self, job: Any) -> Any:
        return job

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        from twinloop.fleet.local import run_local

        return run_local(work, job, items, workers=workers)


LOCAL = LocalExecutor()


def executor_of(name: ExecutorName, address: str | None = None) -> Executor:
    """The executor that the command line names; Ray is imported only where it is asked for."""
    if name == "local":
        if address is not None:
            raise UsageError(f"--address {address}: is that of a Ray cluster; add --executor ray, or leave it out")
        return LOCAL
    from twinloop.fleet.on_ray import RayExecutor

    return RayExecutor(address)

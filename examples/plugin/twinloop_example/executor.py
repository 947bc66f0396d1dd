"""serial: runs all work in this process, one item after the other. Useful with a debugger or a profiler."""

from collections.abc import Iterable, Iterator
from typing import Any

from twinloop.errors import UsageError
from twinloop.fleet.executor import Work


class SerialExecutor:
    name = "serial"

    def __init__(self, address: str | None = None):
        if address is not None:
            raise UsageError(f"--address {address}: the executor 'serial' has no address; leave it out")

    def capacity(self) -> int:
        return 1

    def sent(self, job: Any) -> Any:
        return job

    def run(self, work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
        del workers  # there is one: this process
        return work(job, iter(items))

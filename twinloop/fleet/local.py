"""Work on this machine: one process per worker, each with its own interpreter and physics.

Workers pull items, so a fast worker does more of them. A worker that dies is replaced and its unfinished items are
repeated. When the driver dies, its workers end.

Workers are started as programs (`twinloop.fleet.worker`). The start methods of multiprocessing either run the caller's
script a second time or copy its threads and locks.
"""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from twinloop.errors import WorkerError
from twinloop.fleet.balance import Durations, Taken, leaves_to_others
from twinloop.fleet.executor import Work, is_overlapping
from twinloop.fleet.reports import error_of

MAX_WORKER_FAILURES = 3
"""Number of consecutive worker failures, without a result between them, that stops the run."""


def run_local(
    work: Work, job: Any, items: Iterable[Any], *, workers: int, apart: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Yield (item, result) for every item, in the order in which they finish.

    Args:
        apart: start a process for a single worker too, or use a prepared one. By default it works in this process.
    """
    waiting = deque(items)
    if workers == 1 and not apart:
        yield from work(job, _drain(waiting))
        return
    fleet = _Fleet(work, job, waiting)
    try:
        yield from fleet.run(min(workers, len(waiting)))
    finally:
        fleet.stop()


def prepare(module: str, workers: int) -> None:
    """Start workers that will be needed soon, so that they import `module` while this process does other things.

    A module may define `warm_up()`, which they call after the import.
    """
    _PREPARED.extend(_Worker(module) for _ in range(workers))


def count_prepared(module: str) -> int:
    """Return the number of prepared workers that are alive."""
    return sum(worker.module == module and worker.process.poll() is None for worker in _PREPARED)


def dismiss() -> None:
    """End prepared workers that were not needed."""
    while _PREPARED:
        worker = _PREPARED.pop()
        worker.process.kill()  # it may still be importing; it has no work to lose
        worker.end()


def _drain(waiting: deque) -> Iterator:
    while waiting:
        yield waiting.popleft()


class _Worker:
    """A process that waits for a job, and two pipes to it: one for messages, one that closes when the driver dies."""

    def __init__(self, module: str):
        self.module = module
        self.connection, theirs = Pipe()
        alive, self._alive = os.pipe()
        command = [sys.executable, "-m", "twinloop.fleet.worker", module, str(theirs.fileno()), str(alive)]
        # Workers can import whatever the driver can. Mesa's software renderer would start one more thread per core in
        # each worker; with a worker on every core those only wait. Pixels are the same at any number of threads.
        # Without a GLFW library MuJoCo is imported without the process that tests it (see twinloop.cli).
        # Threads of NumPy's BLAS would wait in a busy loop for work that there is not.
        environment = {
            "LP_NUM_THREADS": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "PYGLFW_LIBRARY": "none",
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        # Ctrl-C reaches every process of the terminal. A worker inherits the blocked signal, so that it does not print
        # a traceback while it starts; the driver receives the signal as soon as it is unblocked.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno(), alive], env=environment)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        os.close(alive)

    def send(self, message: Any) -> None:
        # A worker that has died is noticed when the driver reads from it.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def end(self) -> int:
        self.connection.close()
        os.close(self._alive)
        return self.process.wait()


_PREPARED: list[_Worker] = []


def _prepared(module: str) -> _Worker | None:
    """Return a prepared worker for `module`. A worker that dies while idle is not counted as a failure."""
    for worker in [worker for worker in _PREPARED if worker.module == module]:
        _PREPARED.remove(worker)
        if worker.process.poll() is None:
            return worker
        worker.end()
    return None


class _Fleet:
    def __init__(self, work: Work, job: Any, waiting: deque):
        self.work, self.job, self.waiting = work, job, waiting
        self.workers: dict[Connection, _Worker] = {}
        self.taken: dict[Connection, Taken] = {}
        self.durations = Durations()
        self.failures = 0

    def run(self, workers: int) -> Iterator[tuple[Any, Any]]:
        for _ in range(workers):
            self.start()
        while self.workers:
            for connection in wait(list(self.workers)):
                assert isinstance(connection, Connection)
                worker = self.workers[connection]
                try:
                    kind, *content = connection.recv()
                except (EOFError, ConnectionResetError):
                    self.replace_worker(worker)
                    continue
                if kind == "next":
                    worker.send(self.answer(connection))
                elif kind == "done":
                    item, result = content
                    self.taken[connection].remove(item)
                    self.failures = 0
                    yield item, result
                elif kind == "failed":
                    raise error_of(*content)
                elif kind == "ended":
                    del self.workers[connection], self.taken[connection]
                    worker.end()

    def answer(self, connection: Connection) -> tuple:
        """The answer to a worker that asks for an item: ("item", item), ("later",) or ("end",)."""
        if not self.waiting:
            return ("end",)
        taken = self.taken[connection]
        others = [other for other in self.taken.values() if other is not taken]
        if is_overlapping(self.work) and leaves_to_others(taken, others, len(self.waiting)):
            return ("later",)
        item = self.waiting.popleft()
        taken.add(item)
        return "item", item

    def start(self) -> None:
        module = self.work.__module__
        worker = _prepared(module) or _Worker(module)
        worker.send((self.work.__name__, self.job))
        self.workers[worker.connection] = worker
        self.taken[worker.connection] = Taken(self.durations)

    def replace_worker(self, worker: _Worker) -> None:
        """Repeat the items of a worker that died, in a new one."""
        del self.workers[worker.connection]
        self.waiting.extendleft(reversed(self.taken.pop(worker.connection).items))
        code = worker.end()
        self.failures += 1
        if self.failures >= MAX_WORKER_FAILURES:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise WorkerError(
                f"{self.failures} workers died one after another (the last by {how}); is there enough memory? "
                "Fewer --workers or a smaller parallel_envs need less"
            )
        if self.waiting:
            self.start()

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.process.terminate()
            worker.end()

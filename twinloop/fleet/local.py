"""Work on this machine: one process a worker, each with its own interpreter and physics.

Workers pull items when they have room, so a fast one does more. One that dies is replaced and its unfinished items
are done again; when the driver dies, its workers notice and end.

Workers are started as programs (`twinloop.fleet.worker`), not by multiprocessing's ways of starting one, all of
which run the caller's script a second time or copy its threads and locks.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from twinloop.errors import WorkerError
from twinloop.fleet.executor import Work
from twinloop.fleet.reports import error_of

MOST_DEATHS = 3  # of workers in a row without a result between them


def run_local(work: Work, job: Any, items: Iterable[Any], *, workers: int) -> Iterator[tuple[Any, Any]]:
    """Yield (item, result) for every item, in the order in which they are done."""
    waiting = deque(items)
    if workers == 1:
        yield from work(job, _drain(waiting))
        return
    fleet = _Fleet(work, job, waiting)
    try:
        yield from fleet.run(min(workers, len(waiting)))
    finally:
        fleet.stop()


def prepare(module: str, workers: int) -> None:
    """Start workers that will be wanted soon and let them import their work, beside whatever is done meanwhile."""
    _PREPARED.extend(_Worker(module) for _ in range(workers))


def dismiss() -> None:
    """Let go of prepared workers that were not wanted after all."""
    while _PREPARED:
        worker = _PREPARED.pop()
        worker.process.kill()  # it may still be importing, and has nothing to lose
        worker.end()


def _drain(waiting: deque) -> Iterator:
    while waiting:
        yield waiting.popleft()


class _Worker:
    """A process that waits for a job, and the two pipes to it: one to talk, one that closes when this end dies."""

    def __init__(self, module: str):
        self.module = module
        self.connection, theirs = Pipe()
        alive, self._alive = os.pipe()
        command = [sys.executable, "-m", "twinloop.fleet.worker", module, str(theirs.fileno()), str(alive)]
        # Whatever the driver can import, its workers can. Mesa's software renderer would give each of them a thread a
        # core more; with a worker on every core they only wait for one another. Pixels are the same at any number.
        environment = {"LP_NUM_THREADS": "0", **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno(), alive], env=environment)
        theirs.close()
        os.close(alive)
        self.taken: list[Any] = []

    def send(self, message: Any) -> None:
        # One that has died meanwhile is found when it is listened to.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def end(self) -> int:
        self.connection.close()
        os.close(self._alive)
        return self.process.wait()


_PREPARED: list[_Worker] = []


def _prepared(module: str) -> _Worker | None:
    """One that waits for such work. Who died while waiting had no work to lose, and counts as no death."""
    for worker in [each for each in _PREPARED if each.module == module]:
        _PREPARED.remove(worker)
        if worker.process.poll() is None:
            return worker
        worker.end()
    return None


class _Fleet:
    def __init__(self, work: Work, job: Any, waiting: deque):
        self.work, self.job, self.waiting = work, job, waiting
        self.workers: dict[Connection, _Worker] = {}
        self.deaths = 0

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
                    self.bury(worker)
                    continue
                if kind == "next":
                    item = self.waiting.popleft() if self.waiting else None
                    if item is not None:
                        worker.taken.append(item)
                    worker.send(item)
                elif kind == "done":
                    item, result = content
                    worker.taken.remove(item)
                    self.deaths = 0
                    yield item, result
                elif kind == "failed":
                    raise error_of(*content)
                elif kind == "ended":
                    del self.workers[connection]
                    worker.end()

    def start(self) -> None:
        module = self.work.__module__
        worker = _prepared(module) or _Worker(module)
        worker.send((self.work.__name__, self.job))
        self.workers[worker.connection] = worker

    def bury(self, worker: _Worker) -> None:
        """A worker died: do its items again, in another one."""
        del self.workers[worker.connection]
        code = worker.end()
        self.waiting.extendleft(reversed(worker.taken))
        self.deaths += 1
        if self.deaths >= MOST_DEATHS:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise WorkerError(
                f"{self.deaths} workers died one after another (the last by {how}); is there enough memory? "
                "Fewer --workers or a smaller parallel_envs need less"
            )
        if self.waiting:
            self.start()

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.process.terminate()
            worker.end()

"""Work on this machine: one process a worker, each with its own interpreter and physics.

A worker is a generator function `work(job, items)` that pulls items and yields (item, result). Workers pull
when they have room, so a fast one does more. One that dies is replaced and its unfinished items are done
again; when the driver dies, its workers notice and end.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any

from twinloop import errors
from twinloop.errors import TwinloopError, WorkerError

Work = Callable[[Any, Iterator[Any]], Iterator[tuple[Any, Any]]]

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


def _drain(waiting: deque) -> Iterator:
    while waiting:
        yield waiting.popleft()


def prepare(module: str) -> None:
    """Begin to import a module for the workers that will be wanted soon, beside whatever is done meanwhile.

    Workers are forked from a server that has imported their work once: seven start as fast as one.
    """
    multiprocessing.set_forkserver_preload([module])
    forkserver.ensure_running()


class _Fleet:
    def __init__(self, work: Work, job: Any, waiting: deque):
        self.work, self.job, self.waiting = work, job, waiting
        prepare(work.__module__)
        self.context = multiprocessing.get_context("forkserver")
        self.processes: dict[Connection, Any] = {}
        self.taken: dict[Connection, list] = {}
        self.deaths = 0

    def run(self, workers: int) -> Iterator[tuple[Any, Any]]:
        for _ in range(workers):
            self.start()
        while self.processes:
            for connection in wait(list(self.processes)):
                assert isinstance(connection, Connection)
                try:
                    kind, *content = connection.recv()
                except (EOFError, ConnectionResetError):
                    self.bury(connection)
                    continue
                if kind == "next":
                    item = self.waiting.popleft() if self.waiting else None
                    if item is not None:
                        self.taken[connection].append(item)
                    self._send(connection, item)
                elif kind == "done":
                    item, result = content
                    self.taken[connection].remove(item)
                    self.deaths = 0
                    yield item, result
                elif kind == "failed":
                    name, message = content
                    raise _rebuilt(name, message)
                elif kind == "ended":
                    self.processes.pop(connection).join()
            if self.waiting and not self.processes:
                self.start()

    def start(self) -> None:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(theirs, self.work, self.job), daemon=True)
        process.start()
        theirs.close()
        self.processes[ours] = process
        self.taken[ours] = []

    def bury(self, connection: Connection) -> None:
        """A worker died: do its items again, in another one."""
        process = self.processes.pop(connection)
        process.join()
        unfinished = self.taken.pop(connection)
        self.waiting.extendleft(reversed(unfinished))
        self.deaths += 1
        if self.deaths >= MOST_DEATHS:
            how = f"signal {-process.exitcode}" if process.exitcode < 0 else f"exit code {process.exitcode}"
            raise WorkerError(
                f"{self.deaths} workers died one after another (the last by {how}) with {unfinished} unfinished; "
                "is there enough memory? Fewer --workers or a smaller parallel_envs need less"
            )
        if self.waiting:
            self.start()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.join()

    @staticmethod
    def _send(connection: Connection, item: Any) -> None:
        # One that has died meanwhile is found by the next wait().
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.send(item)


def _serve(connection: Connection, work: Work, job: Any) -> None:
    """A worker's life, in its own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_end_with_driver, daemon=True).start()

    def items() -> Iterator:
        while True:
            connection.send(("next",))
            item = connection.recv()
            if item is None:
                return
            yield item

    try:
        for item, result in work(job, items()):
            connection.send(("done", item, result))
        connection.send(("ended",))
    except TwinloopError as error:
        connection.send(("failed", type(error).__name__, str(error)))
    except Exception:
        connection.send(("failed", "WorkerError", f"a worker failed:\n{traceback.format_exc()}"))


def _end_with_driver() -> None:
    driver = multiprocessing.parent_process()
    assert driver is not None
    wait([driver.sentinel])
    os._exit(1)


def _rebuilt(name: str, message: str) -> TwinloopError:
    """The error a worker reported, with its exit code."""
    kind = getattr(errors, name, WorkerError)
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error

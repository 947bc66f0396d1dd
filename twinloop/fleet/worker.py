"""The worker process: imports its work, waits for a job, and pulls items until there are none. See fleet.local."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection

from twinloop.fleet.reports import reports


def main(module: str, messages: int, alive: int) -> None:
    # The driver handles Ctrl-C. It started this process with the signal blocked; processes started from here must not
    # inherit that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with_driver, args=(alive,), daemon=True).start()
    connection = Connection(messages)
    functions = import_module(module)
    if hasattr(functions, "warm_up"):
        functions.warm_up()
    gc.freeze()  # what was imported stays: collections need not search it
    try:
        name, job = connection.recv()
    except EOFError:
        return  # no job came

    def items() -> Iterator:
        while True:
            connection.send(("next",))
            kind, *content = connection.recv()
            if kind == "end":
                return
            yield content[0] if kind == "item" else None

    for report in reports(getattr(functions, name), job, items()):
        connection.send(report)


def _end_with_driver(alive: int) -> None:
    """Exit when the driver dies: it keeps the other end of this pipe open and never writes to it."""
    os.read(alive, 1)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    # The driver waits for the end of this process. Taking the interpreter and the simulations apart would delay it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)

"""A worker's life: import the work, wait for a job, pull items until there are none. Started by fleet.local."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection

from twinloop.fleet.reports import reports


def main(module: str, talk: int, alive: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_end_with_driver, args=(alive,), daemon=True).start()
    connection = Connection(talk)
    functions = import_module(module)
    try:
        name, job = connection.recv()
    except EOFError:
        return  # prepared for a job that never came

    def items() -> Iterator:
        while True:
            connection.send(("next",))
            item = connection.recv()
            if item is None:
                return
            yield item

    for report in reports(getattr(functions, name), job, items()):
        connection.send(report)


def _end_with_driver(alive: int) -> None:
    """The driver holds the other end of this pipe open as long as it lives, and never writes."""
    os.read(alive, 1)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

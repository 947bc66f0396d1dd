"""A process that reads hostile files, one per line, and prints how each was refused, and the time and memory it took.

Its memory is limited, so that a file that exhausts memory fails here and not on the machine.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from twinloop.errors import TwinloopError

MORE_BYTES = 1 << 30  # more than after the imports


def _checkpoint() -> Callable[[Path], object]:
    import torch

    from twinloop.learn.checkpoint import load

    torch.set_num_threads(1)
    return load


def _config() -> Callable[[Path], object]:
    from twinloop.run.config import load_config

    return load_config


READERS = {"checkpoint": _checkpoint, "config": _config}


def cpu_s() -> float:
    """Of this process and of those it has started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def resident_bytes() -> int:
    """Resident memory now. It also resets the recorded peak."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def main(kind: str, warm_up: str) -> None:
    read = READERS[kind]()
    read(Path(warm_up))  # imports on first use are not counted
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_BYTES, resource.RLIM_INFINITY))
    for line in sys.stdin:
        before, began = resident_bytes(), cpu_s()
        try:
            read(Path(json.loads(line)))
            how, output = "read", ""
        except TwinloopError as error:
            how, output = type(error).__name__, str(error)
        except BaseException as error:  # a bug: it is reported to the test, and the other files are still read
            how, output = f"bug: {type(error).__name__}", str(error)
        measurement = {"how": how, "said": output, "cpu_s": cpu_s() - began, "more_bytes": peak_bytes() - before}
        print(json.dumps(measurement), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A process that is killed at its n-th write, fsync, rename or truncate: before it, or halfway through a write."""

import os
import signal
from collections.abc import Callable

CALLS = ("write", "fsync", "replace", "rename", "truncate", "ftruncate")


def killed_at(count: int, work: Callable[[], object], *, halfway: bool = False) -> bool:
    """Fork, do the work there, and kill the process at the `count`-th call. False if it was done before that."""
    child = os.fork()
    if child == 0:
        try:
            _arm(count, halfway)
            work()
            os._exit(0)
        finally:
            os._exit(9)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"the work failed: {status}"
    return os.WIFSIGNALED(status)


def _arm(count: int, halfway: bool) -> None:
    left = count

    def armed(name: str) -> None:
        real = getattr(os, name)

        def call(*args, **options):
            nonlocal left
            left -= 1
            if left == 0:
                if halfway and name == "write":
                    real(args[0], bytes(args[1])[: max(1, len(args[1]) // 2)])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        setattr(os, name, call)

    for name in CALLS:
        armed(name)

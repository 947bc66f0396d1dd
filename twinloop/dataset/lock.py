"""The writer lock of a dataset folder. It is a kernel lock, so it is released when the writer dies."""

import errno
import fcntl
import os
import re
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

from twinloop.errors import LockedError

LONGEST_NAMELESS_S = 10.0
"""Upper bound for the time between acquiring the lock and writing the holder's name, also on an overloaded machine."""


class WriterLock:
    """An exclusive flock on the file at `path`. The file contains the name of the holder, for error messages.

    The file is kept when the lock is released. Removing it would let two writers lock two different files
    of the same name. A process forked from the holder shares the lock until it exits.
    """

    def __init__(self, path: Path):
        self._path = path
        self._fd: int | None = None

    def acquire(self) -> None:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            try:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                holder = _holder(fd)
            finally:
                os.close(fd)
            advice = "wait until it ends, or stop it and run this again"
            raise LockedError(f"{self._path.parent}: is being written by {holder}; {advice}") from None
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._fd = fd
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"pid {os.getpid()} on {socket.gethostname()} since {started}\n".encode(), 0)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)


def _holder(fd: int) -> str:
    """Return the name of the holder, or "another process" if it does not appear in time.

    A new holder may not have written its name yet. Until then the file is empty or names a dead process.
    """
    deadline = time.monotonic() + LONGEST_NAMELESS_S
    while True:
        holder = os.pread(fd, 200, 0).decode(errors="replace").strip()
        if holder and _may_live(holder):
            return holder
        if time.monotonic() > deadline:
            return "another process"
        time.sleep(0.01)


def _may_live(holder: str) -> bool:
    match = re.match(r"pid (\d+) on (\S+) since ", holder)
    if match is None or match[2] != socket.gethostname():
        return True
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        pass
    return True

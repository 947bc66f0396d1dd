"""One writer at a time. The kernel holds the lock, so a writer that dies leaves none behind."""

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
"""From taking the lock to having written one's name into it: less than this, also on a machine with too much to do."""


class WriterLock:
    """An exclusive flock on the file at `path`, which names its holder for whoever has to wait.

    The file stays when the lock is released: removing it would let two writers lock two different files
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
            advice = "wait for it to end, or stop it and run this again"
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
    """Who holds it. Whoever has just taken it may not have signed yet: until then nobody is named, or one who died."""
    deadline = time.monotonic() + LONGEST_NAMELESS_S
    while True:
        holder = os.pread(fd, 200, 0).decode(errors="replace").strip()
        if holder and _may_live(holder):
            return holder
        if time.monotonic() > deadline:
            return "another process"
        time.sleep(0.01)


def _may_live(holder: str) -> bool:
    found = re.match(r"pid (\d+) on (\S+) since ", holder)
    if found is None or found[2] != socket.gethostname():
        return True
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        pass
    return True

"""One writer at a time. The kernel holds the lock, so a writer that dies leaves none behind."""

import errno
import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from twinloop.errors import LockedError


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
            holder = os.read(fd, 200).decode(errors="replace").strip() or "another process"
            os.close(fd)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
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

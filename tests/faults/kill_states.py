"""The states in which a kill can leave a folder, from one run: before each change of the disk, and in each write."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import digest_file

CALLS = ("write", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir", "ftruncate", "link", "fchmod")
"""Every call by which a writer changes the disk."""
MAX_S = 60.0


@dataclass(frozen=True)
class KillStates:
    """What kills at all moments of one run leave behind.

    Attributes:
        moments: number of moments at which the run was interrupted.
        states: (first moment with this state, a copy of the folder). Moments that leave the same files, such as before
            and after an fsync, share one state.
    """

    moments: int
    states: tuple[tuple[int, Path], ...]


def kill_states(folder: Path, work: Callable[[], object], into: Path) -> KillStates:
    """Do the work in a forked process, and copy the folder at every moment at which a kill would end it.

    A kill leaves the files as they are, so a copy of them is what the next process would find. Killing the process once
    for each moment would repeat the work as often as it changes the disk.

    Args:
        folder: holds everything that the work changes.
        into: gets the copies.
    """
    into.mkdir()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _copy_before_changes(folder, into)
            work()
            status = 0
        finally:
            os._exit(status)  # and not on into pytest
    assert _exit_code(child) == 0, "the work failed by itself"
    copies = sorted(into.iterdir())
    states: dict[object, tuple[int, Path]] = {}
    for moment, copy in enumerate(copies, start=1):
        states.setdefault(_content(copy), (moment, copy))
    return KillStates(len(copies), tuple(states.values()))


def put_back(copy: Path, folder: Path) -> None:
    """Move a copy to where the folder was."""
    if folder.exists():
        subprocess.run(["rm", "-rf", folder], check=True)
    copy.rename(folder)


def _copy_before_changes(folder: Path, into: Path) -> None:
    """Let all later calls that change the disk copy the folder first. A write stops in the middle for another copy."""
    lock, counter = threading.RLock(), iter(range(10**6))

    def copy() -> None:
        target = into / f"{next(counter):06d}"
        if folder.exists():
            subprocess.run(["cp", "-a", folder, target], check=True)  # it keeps hard links and modes
        else:
            real["mkdir"](target)

    def copying(name: str, call: Callable) -> Callable:
        def wrapped(*args, **options):
            with lock:
                copy()
                if name != "write":
                    return call(*args, **options)
                content = bytes(args[1])
                written = call(args[0], content[: len(content) // 2])
                copy()
                return written + call(args[0], content[written:])

        return wrapped

    real = {name: getattr(os, name) for name in CALLS}
    for name, call in real.items():
        setattr(os, name, copying(name, call))


def _exit_code(child: int) -> int:
    deadline = time.monotonic() + MAX_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the work hung")


def _content(folder: Path) -> object:
    """Names, modes, links and content of all files."""

    def entries() -> Iterator[tuple]:
        for path in sorted(folder.rglob("*")):
            stat = path.lstat()
            digest = digest_file(path).sha256 if path.is_file() else ""
            yield str(path.relative_to(folder)), stat.st_mode, stat.st_nlink if digest else 0, digest

    return tuple(entries())

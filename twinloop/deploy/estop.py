"""EStop: once tripped, nothing moves until a human resets it. It is a file, so that it outlives any process.

Whoever can write a file can trip it: `touch FILE`, a script, a button's driver. A key in the terminal and SIGUSR1 do
the same. While the file is there, no episode begins.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from twinloop.durable import read_bounded, storage_errors
from twinloop.errors import EStopError

MAX_REASON_BYTES = 4096


def stop_file_of(robot: str) -> Path:
    """Of the robot with this name: one for all who run it from here, in whichever folder."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "twinloop" / f"stop-{re.sub('[^A-Za-z0-9.]+', '-', robot).strip('-')}"


class EStop:
    def __init__(self, path: Path):
        self.path = path

    @property
    def latched(self) -> bool:
        # What cannot be looked at might be there.
        try:
            self.path.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def trip(self, by: str) -> None:
        """Latch. The first reason stays."""
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                return
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{by}, {datetime.now(UTC).isoformat(timespec='seconds')}\n")

    def reset(self) -> None:
        """By a human, who has looked."""
        with storage_errors(self.path):
            self.path.unlink(missing_ok=True)

    def refuse(self) -> None:
        """Nothing, or an EStopError that says why it is latched and how it is reset."""
        if self.latched:
            raise EStopError(
                f"the e-stop is latched ({self.reason()}); look at the robot, then reset it: run this again with "
                f"--reset-stop, or remove {self.path}"
            )

    def reason(self) -> str:
        try:
            text = read_bounded(self.path, MAX_REASON_BYTES, error=EStopError).decode(errors="replace").strip()
        except Exception:  # whatever lies there, it is a latch
            text = ""
        return text.splitlines()[0][:200] if text else f"by {self.path}"

    @contextmanager
    def on_signal(self) -> Iterator[None]:
        """SIGUSR1 trips it meanwhile."""
        before = signal.signal(signal.SIGUSR1, lambda *_: self.trip("signal SIGUSR1"))
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR1, before)

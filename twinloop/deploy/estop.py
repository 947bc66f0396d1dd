"""EStop: an emergency stop that stays latched until a human resets it. It is a file, so it outlives every process.

Any program that can write the file can trip the e-stop: `touch FILE`, a script, the driver of a button. A key in the
terminal and SIGUSR1 trip it as well. No episode starts while the file exists.
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
    """Return the e-stop file of a robot. It is the same for all processes of this user, in any working directory."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "twinloop" / f"stop-{re.sub('[^A-Za-z0-9.]+', '-', robot).strip('-')}"


class EStop:
    def __init__(self, path: Path):
        self.path = path

    @property
    def latched(self) -> bool:
        # If the file cannot be examined, the e-stop counts as latched.
        try:
            self.path.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def trip(self, by: str) -> None:
        """Latch the e-stop. If it is latched already, the first reason is kept."""
        with storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                return
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{by}, {datetime.now(UTC).isoformat(timespec='seconds')}\n")

    def reset(self) -> None:
        """Reset the e-stop. Only a human who has looked at the robot should do that."""
        with storage_errors(self.path):
            self.path.unlink(missing_ok=True)

    def refuse(self) -> None:
        """Raise EStopError, with the reason and how to reset it, if the e-stop is latched."""
        if self.latched:
            raise EStopError(
                f"the e-stop is latched ({self.reason()}); check the robot, then run this again with "
                f"--reset-stop or remove {self.path}"
            )

    def reason(self) -> str:
        try:
            text = read_bounded(self.path, MAX_REASON_BYTES, error=EStopError).decode(errors="replace").strip()
        except Exception:  # the file latches the e-stop even if it cannot be read
            text = ""
        return text.splitlines()[0][:200] if text else f"by {self.path}"

    @contextmanager
    def on_signal(self) -> Iterator[None]:
        """Within this context, SIGUSR1 trips the e-stop."""
        before = signal.signal(signal.SIGUSR1, lambda *_: self.trip("signal SIGUSR1"))
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR1, before)

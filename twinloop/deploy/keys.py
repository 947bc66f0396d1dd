"""Keys: keys that the operator presses in the terminal during an episode."""

import os
import select
import sys
import termios
import tty

STOP, RESET, ABORT, TAKEOVER, ENOUGH = " e", "r", "a", "t", "\n\r"
HELP = "keys: space or e = e-stop · a = abort this episode · t = mark a takeover · Enter = finish the episode"
HELP_TAKEOVER = "keys: space or e = e-stop · a = abort this episode · t = take over or give back · Enter = finish"
HELP_LEADING = "keys: space or e = e-stop · a = abort this episode · Enter = finish the episode"


class Keys:
    """A context manager. Inside it, the terminal passes on each key at once and does not echo it."""

    def __init__(self, descriptor: int | None = None):
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._before: list | None = None

    def __enter__(self) -> "Keys":
        self._before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def pressed(self, wait_s: float = 0.0) -> str:
        """Return all keys that were pressed since the last call."""
        if not select.select([self._descriptor], [], [], wait_s)[0]:
            return ""
        return os.read(self._descriptor, 64).decode(errors="replace").lower()


def terminal() -> bool:
    try:
        return os.isatty(sys.stdin.fileno())
    except (ValueError, OSError):  # stdin may be closed or missing
        return False

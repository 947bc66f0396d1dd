"""The command line. It parses arguments, calls the package and prints results; it computes nothing.

This module imports nothing of the package before `main` runs, so that Ctrl-C during start-up ends in one line and
`twinloop --help` does not wait for the physics engine.
"""

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` is `sys.argv[1:]` by default."""
    # MuJoCo imports GLFW, which tests its library in a separate Python process. Ctrl-C would end that process with a
    # traceback. Twinloop opens no window: images are rendered with EGL or OSMesa.
    os.environ.setdefault("PYGLFW_LIBRARY", "none")
    try:
        from twinloop.cli.command_line import run_command_line

        return run_command_line(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        print("\ntwinloop: stopped by Ctrl-C. The same command continues where it stopped.", file=sys.stderr)
        return 130

"""The command line. It parses arguments, calls the package and prints results; it computes nothing.

This module imports nothing of the package before `main` runs, so that Ctrl-C during start-up ends in one line and
`twinloop --help` does not wait for the physics engine.
"""

import os
import sys
from collections.abc import Sequence

GL_BACKENDS = ("egl", "osmesa", "glfw", "glx", "wgl", "cgl", "", "enable", "enabled", "on", "true", "1",
               "disable", "disabled", "off", "false", "0")  # fmt: skip
"""Values of MUJOCO_GL that MuJoCo accepts on some system."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` is `sys.argv[1:]` by default."""
    # MuJoCo imports GLFW, which tests its library in a separate Python process. Ctrl-C would end that process with a
    # traceback. Twinloop opens no window: images are rendered with EGL or OSMesa.
    os.environ.setdefault("PYGLFW_LIBRARY", "none")
    backend = os.environ.get("MUJOCO_GL", "")
    if backend.lower().strip() not in GL_BACKENDS:
        # MuJoCo would end every process of the command with a traceback while it is imported.
        print(f"twinloop: MUJOCO_GL={backend}: egl, osmesa or disable was expected; or unset it", file=sys.stderr)
        return 2
    try:
        from twinloop.cli.command_line import run_command_line

        return run_command_line(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        print("\ntwinloop: stopped by Ctrl-C. The same command continues where it stopped.", file=sys.stderr)
        return 130

"""The OpenGL context of this process. MuJoCo selects a backend from MUJOCO_GL when it is imported. This module creates
the backend's context when the first image is rendered."""

import atexit
import ctypes.util
import os
from functools import cache
from importlib import import_module
from typing import Any

from twinloop.errors import RenderError

FIX = "apt-get install -y libegl1 libosmesa6 libgl1-mesa-dri"
BACKENDS = {"egl": "EGL", "osmesa": "OSMesa"}  # name -> its library, best first


@cache
def context() -> Any:
    """The context, made current. It is kept until the process ends: creating one costs more than many images."""
    backend = _backend()
    try:
        made = import_module(f"mujoco.{backend}").GLContext(16, 16)
        made.make_current()
        # Freed before the interpreter ends, while the library it needs is still loaded.
        atexit.register(made.free)
    except Exception as error:
        # A missing or broken driver raises ImportError, AttributeError, GLError or RuntimeError, depending on the layer
        # that fails.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise RenderError(f"no OpenGL context could be made with {backend} ({reason}); run: {FIX}") from error
    return made


@cache
def bindings() -> Any:
    """PyOpenGL's functions. The context loads the library; it must not be imported earlier, because it binds to a
    backend on import."""
    context()
    # Asking for an error after every call takes longer than the call. The context itself needs the checks.
    setattr(import_module("OpenGL"), "ERROR_CHECKING", False)  # noqa: B010
    return import_module("OpenGL.GL")


@cache
def driver() -> str:
    """Renderer and version, e.g. "llvmpipe (LLVM 15.0.6, 256 bits), 4.5 (Compatibility Profile) Mesa 22.3.6"."""
    context().make_current()
    gl = bindings()
    return ", ".join(gl.glGetString(what).decode() for what in (gl.GL_RENDERER, gl.GL_VERSION))


def _backend() -> str:
    requested = os.environ.get("MUJOCO_GL", "").lower()
    if requested in BACKENDS:
        return requested
    if requested in ("disable", "disabled", "off", "false", "0"):
        raise RenderError(f"pictures need OpenGL, and MUJOCO_GL={requested} switches it off; unset it, or run: {FIX}")
    # Found by name only: PyOpenGL cannot switch libraries after it has loaded one.
    for backend, library in BACKENDS.items():
        if ctypes.util.find_library(library):
            return backend
    raise RenderError(f"pictures need OpenGL, and this machine has none; run: {FIX}")

"""Compiled versions of the pixel loops of the camera model, with Numba if it is installed (`pip install
'twinloop[fast]'`).

They compute the same bits as the NumPy code that calls them: the same operations on float32, in the same order. A test
compares them.
"""

import os
from functools import cache
from importlib.util import find_spec
from types import ModuleType

SWITCH = "TWINLOOP_COMPILED"


@cache
def compiled() -> ModuleType | None:
    """The module with the compiled functions; None without Numba, or if TWINLOOP_COMPILED=0 switches them off."""
    if os.environ.get(SWITCH, "1") == "0" or find_spec("numba") is None:
        return None
    from twinloop.observe import compiled_kernels

    return compiled_kernels

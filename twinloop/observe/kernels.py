"""Compiled versions of the pixel loops of the camera model, with Numba if it is installed (`pip install
'twinloop[fast]'`).

They compute the same bits as the NumPy code that calls them: the same operations on float32, in the same order. A test
compares them.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

SWITCH = "TWINLOOP_COMPILED"

KINDS = {
    "compiled_sampling": {
        "bilinear": "u1:2 i4:1 i8 u2:1 u2:1 u4:1 u4:2 u1:2",
        "take_ids": "i2:2 i8:1 i2:2",
        "take_numbers": "f4:2 i8:1 f4:2",
        "take_vectors": "u8:2 i8:1 u8:2",
    },
    "compiled_kernels": {
        "expose": "f4:1 f4:3 f8 f8 i8 i8 f8 i8 f4:1 f4:2 u8:2 u8:2 f4:3 u1:2 f4:1 f4:1 u1:1 f4:2",
        "defocus": "f4:2 f4:1 f4:1 f4:2 f4:2",
        "develop": (
            "u1:2 f4:1 i8 f4:1 f4:1 f4:2 f4:3 f4:2 f4:1 f4:1 i8 f4:4 f8 f8 i8 i8 f8 i8 f4:1 f4:2 u8:2 u8:2 f4:3 u1:2 "
            "f4:1 f4:1 u1:1 i8 f4:1 f4:1 f4:1 u4:1 i8 f4 f4 f4 f4:1 f4:1 f4:1 f4 f4:2 f4:2 f4:1 f4:2 f4:1 f4:2 u1:2"
        ),
    },
    "compiled_depth": {
        "jitter": "f4:3 f4 f4 f4:1 u4:1 f4 i8 f4:3",
        "holes": "f4:3 f4:3 f4:3 f4:3 f4:2 f4:3 f4:1 u4:1 i8 i8 i2:3 f4:1 i8 f4:2 f4:2 f4:1 i8:1 f4:2",
        "flow": "f4:2 i2:2 u2:2 f4:3 f4:1 f4:1 f4 f4:3",
    },
    "compiled_drawn": {
        "unpack": "u1:2 f4:2 f4 f4 i2:1 i8:1 u1:2 i2:2 f4:2",
        "look_up": "i2:1 u1:1 u1:1",
    },
    "compiled_compression": {"compress": "u1:4 f4:2 f4:2 f4:2 f4:2 f4:2 i8 i8 f4:2 f4:3 f4:2 u1:4"},
}
"""Module -> function -> types of its arguments, see `machine_code.Kernel`."""


@cache
def compiled() -> SimpleNamespace | None:
    """The compiled functions by name; None without Numba, or if TWINLOOP_COMPILED=0 switches them off."""
    functions = {}
    for module, kinds in KINDS.items():
        own = compiled_functions(f"twinloop.observe.{module}", kinds)
        if own is None:
            return None
        functions |= vars(own)
    return SimpleNamespace(**functions)


def compiled_functions(module: str, kinds: Mapping[str, str]) -> SimpleNamespace | None:
    """The functions of one module; see `compiled`. kinds: function -> types of its arguments."""
    if os.environ.get(SWITCH, "1") == "0" or find_spec("numba") is None:
        return None
    return SimpleNamespace(**_functions_of(module, kinds))


def _functions_of(module: str, kinds: Mapping[str, str]) -> Mapping[str, Callable[..., None]]:
    from twinloop.observe.machine_code import load

    try:
        return load(module, {name: tuple(kind.split()) for name, kind in kinds.items()})
    except AttributeError:
        # The object code is not part of Numba's public interface. With a version that keeps it elsewhere, Numba itself
        # calls the functions, which takes longer to start.
        source = import_module(module)
        return {name: getattr(source, name) for name in kinds}

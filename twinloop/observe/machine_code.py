"""Machine code of the compiled kernels: made by Numba once per installation, then loaded without Numba.

Importing Numba and loading its own cache takes more than a second in each worker. The object files here are loaded by
llvmlite, on which Numba is built, in a few milliseconds. A kernel gets addresses and sizes of arrays; it allocates no
memory and raises nothing.
"""

import ctypes
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

NEVER_CALLED = ("NRT_MemInfo_call_dtor", "NRT_decref", "NRT_incref")
"""Functions of Numba that count references to memory. Kernels own none."""
LOCK = "kernels.lock"
FROM_C = ("sqrtf", "memset", "memcpy")
"""Functions of the C library that kernels may call."""


class Kernel:
    """A compiled function.

    Args:
        kinds: type of each argument: a NumPy type, followed by the number of axes if it is an array, e.g. "f4:2".
    """

    def __init__(self, name: str, kinds: tuple[str, ...], address: int):
        self._name, self._kinds = name, tuple(_kind(kind) for kind in kinds)
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for dtype, axes in self._kinds:
            scalar = [np.ctypeslib.as_ctypes_type(dtype)]
            types += scalar if axes is None else [ctypes.c_void_p, *[ctypes.c_int64] * axes]
        # Numba's calling convention: places for the result and for an error, arguments; the result is a status.
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(address)

    def __call__(self, *arguments: Any) -> None:
        """Arrays must have the declared type and be contiguous."""
        flat: list[Any] = []
        for argument, (dtype, axes) in zip(arguments, self._kinds, strict=True):
            if axes is None:
                flat.append(float(argument) if dtype.kind == "f" else int(argument))
                continue
            if argument.dtype != dtype or argument.ndim != axes or not argument.flags.c_contiguous:
                given = f"{argument.dtype} of shape {argument.shape}"
                raise TypeError(f"{self._name}: {given} was given; contiguous {dtype} with {axes} axes was expected")
            flat += [argument.ctypes.data, *argument.shape]
        result, error = ctypes.c_void_p(), ctypes.c_void_p()
        if self._call(ctypes.byref(result), ctypes.byref(error), *flat):
            raise RuntimeError(f"{self._name} failed")


def _kind(kind: str) -> tuple[np.dtype, int | None]:
    dtype, _, axes = kind.partition(":")
    return np.dtype(dtype), int(axes) if axes else None


def load(module: str, kinds: Mapping[str, tuple[str, ...]]) -> dict[str, Kernel]:
    """The kernels of a module, by name. kinds: name -> types of its arguments, see `Kernel`."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
    assert abort is not None
    for name in NEVER_CALLED:
        llvm.add_symbol(name, abort)
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    kernels = {}
    for name, types in kinds.items():
        symbol, code = _object(module, name, types, processor)
        machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _ENGINES.append(engine)
        kernels[name] = Kernel(name, types, engine.get_function_address(symbol))
    return kernels


_ENGINES: list[Any] = []
"""They own the loaded code, which is needed until the process ends."""


def _object(module: str, name: str, kinds: tuple[str, ...], processor: tuple[str, str]) -> tuple[str, bytes]:
    """Symbol and object code of a kernel: from the cache, or compiled now."""
    file = f"{name}-{_key(module, name, kinds, processor)}.o"
    folders = _folders(module)
    if (known := _cached(folders, file)) is not None:
        return known
    with _alone(folders):
        # Another worker may have compiled it in the meantime.
        if (known := _cached(folders, file)) is not None:
            return known
        symbol, code = _compiled(module, name, kinds)
        digest = hashlib.sha256(symbol.encode() + code).hexdigest().encode()
        for folder in folders:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                scratch = folder / f"{file}.{secrets.token_hex(4)}"
                scratch.write_bytes(b"\n".join([digest, symbol.encode(), code]))
                scratch.replace(folder / file)
                break
    return symbol, code


def _cached(folders: tuple[Path, ...], file: str) -> tuple[str, bytes] | None:
    for folder in folders:
        with suppress(OSError, ValueError):
            digest, symbol, code = (folder / file).read_bytes().split(b"\n", 2)
            # A broken file would end the process.
            if digest.decode() == hashlib.sha256(symbol + code).hexdigest():
                return symbol.decode(), code
    return None


@contextmanager
def _alone(folders: tuple[Path, ...]) -> Iterator[None]:
    """Wait until no other process compiles. Where no folder can be written, several may compile at the same time."""
    with ExitStack() as stack:
        for folder in folders:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((folder / LOCK).open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
                break
        yield


def _key(module: str, name: str, kinds: tuple[str, ...], processor: tuple[str, str]) -> str:
    """Digest of everything that decides the machine code."""
    parts = "\n".join([name, *kinds, *processor, _made_from(module)])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


@cache
def _made_from(module: str) -> str:
    """Digest of compilers and sources."""
    parts = [version("numba"), version("llvmlite"), version("numpy")]
    sources = sorted(_folder_of(module).glob("compiled_*.py"))
    parts += [source.read_text() for source in (*sources, Path(__file__))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _folders(module: str) -> tuple[Path, ...]:
    """Where object code is kept: beside the byte code, or in the user's cache if that cannot be written."""
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return _folder_of(module) / "__pycache__", Path(users) / "twinloop" / "kernels"


@cache
def _folder_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _compiled(module: str, name: str, kinds: tuple[str, ...]) -> tuple[str, bytes]:
    """Compile a function of a module for this processor, with the calling convention of `Kernel`."""
    import numba

    function = getattr(import_module(module), name)
    names, types, given = [], [], []
    for number, (dtype, axes) in enumerate(map(_kind, kinds)):
        own = numba.from_dtype(dtype)
        names.append(f"a{number}")
        if axes is None:
            types.append(own)
            given.append(names[-1])
            continue
        sizes = [f"a{number}_{axis}" for axis in range(axes)]
        names += sizes
        types += [numba.types.CPointer(own), *[numba.types.int64] * axes]
        given.append(f"carray(a{number}, ({', '.join(sizes)},))")
    scope: dict[str, Any] = {"carray": import_module("numba").carray, "function": function}
    exec(f"def entry({', '.join(names)}):\n    function({', '.join(given)})\n", scope)
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    entry = numba.njit(tuple(types), **options)(scope["entry"])
    compiled = entry.overloads[tuple(types)]
    optimised = compiled.library._final_module
    needed = {function.name for function in optimised.functions if function.is_declaration}
    unknown = {name for name in needed if not name.startswith("llvm.")} - {*NEVER_CALLED, *FROM_C}
    if unknown:
        raise RuntimeError(f"{module}.{name} needs {', '.join(sorted(unknown))}: it must not allocate or raise")
    return compiled.fndesc.llvm_func_name, compiled.library._codegen._tm.emit_object(optimised)

"""Support of MuJoCo Warp: whether it is installed, its devices, and the twins and draws that it can simulate.

Everything unsupported is refused here, by name, before any work starts.
"""

import warnings
from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from twinloop.errors import ModelError, UsageError
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.draw import Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import APPLIED
from twinloop.twin.twin import Twin

if TYPE_CHECKING:
    from types import ModuleType

    import mujoco_warp

CPU_FLAGS = ""
"""Kernels are compiled for a generic processor and not for this one, so that every machine computes the same numbers.
This also halves the compile time."""

_OFF = mujoco.mjtDisableBit


def resolve_device(given: str | None) -> str:
    """Full name of the given device. Without one: the first GPU, or the CPU if there is none."""
    wp = load_warp()
    known = [str(device) for device in wp.get_devices()]
    if given is None:
        return "cuda:0" if "cuda:0" in known else "cpu"
    name = "cuda:0" if given == "cuda" else given
    if name not in known:
        hint = "" if wp.is_cuda_available() else "; Warp has found no CUDA driver on this machine"
        raise UsageError(f"--device {given!r}: valid here: {', '.join(known)}{hint}")
    return name


def warp_versions(device: str) -> dict[str, str]:
    """Package versions and kind of device, for headers. Different kinds of GPU round differently."""
    from importlib.metadata import version

    warp_device = load_warp().get_device(device)
    kind = "cpu" if warp_device.is_cpu else f"{warp_device.name} (sm_{warp_device.arch})"
    return {"mujoco_warp": version("mujoco-warp"), "warp": version("warp-lang"), "warp_device": kind}


def refuse_unsupported(twin: Twin, randomization: Mapping[str, Distribution]) -> None:
    """Raise if Warp cannot simulate this twin with this randomization."""
    load_warp()
    if twin.soft is not None:
        raise UsageError(f"--backend warp: object {twin.object.name!r} is soft, and a soft object needs --backend cpu")
    if twin.drive is not None:
        raise UsageError(
            "--backend warp: the twin has the servo law of a patch, of `drive` in the config or of a row servo_*; it "
            "needs --backend cpu"
        )
    draws = Sampler(randomization, seed=0).draw(0, 1)
    refused = {}
    for parameter in APPLIED:
        if parameter.apply is not None and parameter.name in randomization:
            shared = [name for name in _written(twin, parameter, draws.elements(parameter)) if not is_per_world(name)]
            if shared:
                refused[parameter.name] = ", ".join(shared)
    if refused:
        why = "; ".join(f"{name} (sets {fields})" for name, fields in refused.items())
        raise UsageError(
            f"--backend warp: these parameters cannot differ between simulations there: {why}. Leave them out of "
            "randomization, or use --backend cpu"
        )
    try:
        with load_warp().ScopedDevice("cpu"):
            put_model(device_model(twin.model))
    except (NotImplementedError, ValueError) as error:
        raise ModelError(
            f"--backend warp: robot {twin.robot.name} in task {twin.task.name} has what MuJoCo Warp cannot simulate: "
            f"{error} Use --backend cpu"
        ) from error


def device_model(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of the model with the options that Warp needs."""
    ours = copy(model)
    # Warp has no automatic reset to switch off. Its native collision of two boxes finds half the contacts that the
    # CPU engine finds; with native collision disabled it uses a method like the CPU engine's.
    ours.opt.disableflags = (model.opt.disableflags & ~_OFF.mjDSBL_AUTORESET.value) | _OFF.mjDSBL_NATIVECCD.value
    return ours


def put_model(model: mujoco.MjModel) -> "mujoco_warp.Model":
    import mujoco_warp

    with warnings.catch_warnings():
        # Warp warns of geoms without friction. In a twin the friction of such contacts comes from the other geom.
        warnings.filterwarnings("ignore", message=".*friction.*may cause NaN")
        return mujoco_warp.put_model(model)


@cache
def _per_world() -> frozenset[str]:
    import dataclasses

    import mujoco_warp as mjw

    load_warp()

    def batched(kind: type) -> set[str]:
        return {
            declared.name
            for declared in dataclasses.fields(kind)
            if getattr(declared.type, "shape", ("",))[:1] == ("*",)
        }

    options = {f"opt.{name}" for name in batched(mjw.Option)}
    # Warp stores impratio as its inverse square root.
    options |= {"opt.impratio"} if "opt.impratio_invsqrt" in options else set()
    return frozenset(batched(mjw.Model) | options)


def is_per_world(field: str) -> bool:
    """True if a model field, named as in the CPU engine, may differ between simulations."""
    return field in _per_world()


class _Notebook:
    """Rows of one simulation that record which fields are accessed."""

    def __init__(self, twin: Twin):
        self.twin = twin
        self.fields: dict[str, np.ndarray] = {}

    def __getitem__(self, field: str) -> np.ndarray:
        if field not in self.fields:
            owner = self.twin.model.opt if field.startswith("opt.") else self.twin.model
            self.fields[field] = np.array(getattr(owner, field.removeprefix("opt.")))[None].copy()
        return self.fields[field]


def _written(twin: Twin, parameter: Parameter, values: np.ndarray) -> list[str]:
    """Names of the model fields that a parameter writes."""
    assert parameter.apply is not None
    notebook = _Notebook(twin)
    parameter.apply(notebook, np.array([0]), values)
    return list(notebook.fields)


@cache
def load_warp() -> "ModuleType":
    """Import and configure Warp, without its messages. Call this before any other use of Warp."""
    try:
        import mujoco_warp  # noqa: F401
        import warp
    except ModuleNotFoundError:
        raise UsageError(
            "--backend warp: MuJoCo Warp is not installed; pip install 'twinloop[warp]' (150 MB), or use --backend cpu"
        ) from None
    # Warp prints a greeting on standard output, which is for results only.
    warp.config.log_level = warp.LOG_ERROR
    warp.config.cpu_compiler_flags = CPU_FLAGS
    warp.init()
    return warp

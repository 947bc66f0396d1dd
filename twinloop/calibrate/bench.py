"""Bench: a model to compare logs with, the meaning of the log columns in it, and the variables that may be fitted.

`bench_file.py` declares the keys of a bench file; here they are checked against the model.
"""

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.calibrate.bench_file import (
    BenchFile,
    ChannelFile,
    DriveFile,
    InputFile,
    LogConfig,
    PlaceFile,
    Refusal,
    Search,
    TwinFile,
    Variable,
    VariableFile,
)
from twinloop.calibrate.channels import ChannelMap, channel_map
from twinloop.calibrate.logs import Log, read_logs
from twinloop.calibrate.places import Place, check_name, fit_variable, places_of
from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.errors import ModelError, UsageError, nearest
from twinloop.signals.clock import estimate_clock, nominal_rate
from twinloop.simulate.drives import DRIVES, FitVariable
from twinloop.twin.robot import Robot
from twinloop.twin.robot_files.mjcf_file import checked_files

UNDECLARED_HZ = 100.0
"""Grid rate until the logs are read, where the bench file declares no rate."""


@dataclass(frozen=True)
class DriveConfig:
    """The servo model of a bench.

    Attributes:
        model: one of `DRIVES`.
        joints: driven joints.
        enabled: log column that says whether motors are powered; empty if they always are.
        inputs: name -> (constant of the log, factor). If the constant is empty, the factor is the value.
    """

    model: str
    joints: tuple[str, ...]
    enabled: str
    inputs: dict[str, tuple[str, float]]


@dataclass(frozen=True)
class Bench:
    """A loaded bench file.

    Attributes:
        substeps: physics steps between two frames.
        measured, commanded: channels of the logs.
        variables: all fit variables by full name.
        places: fit variable -> the numbers of the model that it sets.
        constants: constant of a log -> the numbers of the model that it sets.
        fit: names of the variables that are fitted by default.
        digest: SHA-256 of the bench file's content, without `logs`, `fit` and `search`, and of its model files.
        robot: the robot that the model is; None for a model file.
        aside: joints that are not driven and hardly move the others, such as those of a gripper.
    """

    path: Path
    name: str
    model: mujoco.MjModel
    substeps: int
    logs: LogConfig
    measured: tuple[ChannelMap, ...]
    commanded: tuple[ChannelMap, ...]
    drive: DriveConfig | None
    variables: dict[str, FitVariable]
    places: dict[str, tuple[Place, ...]]
    constants: dict[str, tuple[Place, ...]]
    fit: tuple[str, ...]
    digest: str
    search: Search = "slopes"
    robot: Robot | None = None
    aside: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[ChannelMap, ...]:
        return tuple(channel for channel in self.measured if channel.compared)


def load_bench(path: Path) -> Bench:
    """Read a bench file and compile its model."""
    value, lines = read_yaml(path)
    root = Section(str(path), "", value, lines)
    file = read_record(BenchFile, root)
    logs = file.logs if file.logs.rate_hz else replace(file.logs, rate_hz=UNDECLARED_HZ, rate_declared=False)
    spec, sources = _spec_of(root, file.twin)
    substeps = substeps_of(logs.rate_hz, file.twin.timestep_ms)
    model = _compiled(spec, path, timestep_s=1 / logs.rate_hz / substeps)
    variables: dict[str, FitVariable] = {}
    if file.drive is not None:
        variables |= _drive_variables(root, file.drive, model)
        # The drive computes the torque, and logs may exceed the joint limits of the model.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.jnt_limited[[model.joint(name).id for name in file.drive.joints]] = False
    places = {}
    for name, parameter in file.parameters.items():
        variables[name] = fit_variable(parameter, name)
        places[name] = places_of(parameter, model, _refusal(root, f"parameters.{name}"))
    bench = Bench(
        path=path,
        name=path.stem,
        model=model,
        substeps=substeps,
        logs=logs,
        measured=_channels(root, "measured", file.measured, model, variables),
        commanded=_channels(root, "commanded", file.commanded, model, variables),
        drive=None if file.drive is None else _drive_config(file.drive),
        variables=variables,
        places=places,
        constants={name: _constant(root, name, places, model) for name, places in file.constants.items()},
        fit=expand(file.fit, variables, lambda problem: root.error("fit", problem)),
        digest=_digest(value, sources),
        search=file.search,
        robot=file.twin.robot,
    )
    if not bench.compared:
        raise UsageError(f"{path}: no channel under `measured` is compared; there is nothing to hold the twin against")
    return bench


def logs_of(bench: Bench, path: Path) -> list[Log]:
    """Read the logs at `path` in the format that the bench file declares."""
    config = bench.logs
    return read_logs(
        path,
        format=config.format,
        files=config.files,
        rows=config.rows,
        time=config.time,
        rate_hz=config.rate_hz if config.rate_declared else float("nan"),
    )


def at_logged_rate(bench: Bench, logs: Sequence[Log]) -> Bench:
    """The bench with the rate of its logs. A bench whose file declares `logs.rate_hz` is returned as it is."""
    rates = [clock.rate_hz for log in logs if np.isfinite((clock := estimate_clock(log.time_s)).rate_hz)]
    if bench.logs.rate_declared or not rates:
        return bench
    rate_hz = nominal_rate(float(np.median(rates)))
    model = copy(bench.model)
    substeps = substeps_of(rate_hz, 1000 * model.opt.timestep)
    model.opt.timestep = 1 / rate_hz / substeps
    return replace(bench, model=model, substeps=substeps, logs=replace(bench.logs, rate_hz=rate_hz))


def substeps_of(rate_hz: float, timestep_ms: float) -> int:
    """Physics steps between two frames: a whole number that makes a step about `timestep_ms` long."""
    return max(1, round(1000 / rate_hz / timestep_ms))


def _refusal(root: Section, path: str) -> Refusal:
    """Makes errors about the keys of the section at `path`."""
    return lambda key, problem: root.error(f"{path}.{key}", problem)


def _spec_of(root: Section, twin: TwinFile) -> tuple[mujoco.MjSpec, list[Path]]:
    """The model, and the files that it was read from."""
    if twin.robot is not None:
        return twin.robot.build(), []
    folder = Path(root.file).parent
    path = folder / str(twin.mjcf)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise root.error("twin.mjcf", f"is {path}; a file in the folder of the bench file was expected")
    sources = checked_files(path)
    try:
        return mujoco.MjSpec.from_file(str(path)), sources
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot read it: {error}") from None


def _compiled(spec: mujoco.MjSpec, path: Path, *, timestep_s: float) -> mujoco.MjModel:
    spec.option.timestep = timestep_s
    # Static friction and strong braking need an implicit integrator.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot compile its model: {error}") from None


def _channels(
    root: Section, key: str, files: tuple[ChannelFile, ...], model: mujoco.MjModel, variables: dict[str, FitVariable]
) -> tuple[ChannelMap, ...]:
    return tuple(channel_map(file, model, variables, _refusal(root, f"{key}.{file.name}")) for file in files)


def _constant(
    root: Section, name: str, files: PlaceFile | tuple[PlaceFile, ...], model: mujoco.MjModel
) -> tuple[Place, ...]:
    """The places of one constant of the logs."""
    if isinstance(files, PlaceFile):
        return places_of(files, model, _refusal(root, f"constants.{name}"))
    refusals = [_refusal(root, f"constants.{name}[{index}]") for index in range(len(files))]
    return tuple(
        place for file, refuse in zip(files, refusals, strict=True) for place in places_of(file, model, refuse)
    )


def _drive_config(file: DriveFile) -> DriveConfig:
    inputs = {}
    for name, default in DRIVES[file.model].inputs.items():
        given = file.inputs.get(name, default)
        inputs[name] = (given.constant or name, given.scale) if isinstance(given, InputFile) else ("", given)
    return DriveConfig(file.model, file.joints, file.enabled, inputs)


def _drive_variables(root: Section, file: DriveFile, model: mujoco.MjModel) -> dict[str, FitVariable]:
    """Full name -> fit variable of each joint. A value for one joint comes before one for all joints."""
    for joint in file.joints:
        check_name(model, "joint", joint, "joints", _refusal(root, "drive"))
    given = file.variables.read(root.section("drive"), "parameters")
    refuse = _refusal(root, "drive.parameters")
    variables: dict[str, FitVariable] = {}
    for variable in DRIVES[file.model].variables:
        shared = _changed(variable, given.get(variable.name), variable.name, refuse)
        for joint in file.joints:
            own = given.get(joint, {}).get(variable.name)
            name = f"{joint}.{variable.name}"
            variables[name] = replace(_changed(shared, own, name, refuse), name=name)
    return variables


def _changed(variable: FitVariable, given: Variable | None, key: str, refuse: Refusal) -> FitVariable:
    """The fit variable with the entries of the file: a number (its value), or `value`, `low` and `high`."""
    if given is None:
        return variable
    if isinstance(given, VariableFile):
        low = variable.low if given.low is None else given.low
        high = variable.high if given.high is None else given.high
        value = min(max(variable.value, low), high) if given.value is None else given.value
    else:
        value, low, high = given, min(variable.low, given), max(variable.high, given)
    if not low < high:
        raise refuse(key, f"has bounds {low:g} to {high:g}; the smaller one first")
    if not low <= value <= high:
        raise refuse(f"{key}.value", f"is {value:g}; it must be from {low:g} to {high:g}")
    if variable.log and low <= 0:
        raise refuse(key, f"is {value:g}, bounds {low:g} to {high:g}; it must stay above 0")
    return replace(variable, value=value, low=low, high=high)


def expand(names: tuple[str, ...], variables: dict[str, FitVariable], error) -> tuple[str, ...]:
    """Full names of fit variables.

    `stiffness_nm_rad` selects that of every joint, `elbow` all of one joint, `elbow.stiffness_nm_rad` a single one.
    """
    full_names: list[str] = []
    for name in names:
        matches = [full for full in variables if name in (full, full.rpartition(".")[2], full.rpartition(".")[0])]
        if not matches:
            # A list of all quantities of all joints would have hundreds of names.
            parts = dict.fromkeys(part for full in variables for part in full.rpartition(".")[::2] if part)
            raise error(f"names {name!r}, which cannot be fitted; {nearest(name, parts)}")
        full_names += [full for full in matches if full not in full_names]
    return tuple(full_names)


def _digest(value: dict[str, Any], sources: list[Path]) -> str:
    """Digest of what a fit depends on: not of the place of the logs or of the choice of variables."""
    content = {name: section for name, section in value.items() if name not in ("logs", "fit", "search")}
    whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for source in sources:
        whole.update(source.read_bytes())
    return whole.hexdigest()

"""Bench: a model to compare logs with, the meaning of the log columns in it, and the variables that may be fitted.

All top-level keys of a bench file are read here; docs/calibrating.md lists all keys.
"""

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import mujoco
import numpy as np

from twinloop.calibrate.channels import ChannelMap, read_channels
from twinloop.calibrate.logs import FORMATS, Log, read_logs
from twinloop.calibrate.models import DRIVES, Knob
from twinloop.calibrate.places import Place, named, read_parameter, read_places
from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import read_yaml
from twinloop.errors import ModelError, UsageError, nearest
from twinloop.signals.clock import estimate_clock, nominal_rate
from twinloop.twin.robots import robots
from twinloop.twin.robots.mjcf_file import checked_files

Search = Literal["slopes", "population"]
"""Search method: `slopes` follows gradients; `population` is for chaotic motion, where gradients are useless."""
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
class LogConfig:
    """How logs are read.

    Attributes:
        format: one of `FORMATS`.
        files: pattern of file names.
        rows: key of the list of rows in a JSON file.
        time: column with the time in seconds; empty if there is none.
        rate_hz: rate of the even grid onto which logs are resampled.
        rate_declared: whether the bench file gives the rate. Otherwise it is estimated (`at_logged_rate`).
        begin_frames: number of frames of free flight from which the initial state of an undriven body is estimated;
            1: the first frame as logged.
    """

    format: str
    files: str
    rows: str
    time: str
    rate_hz: float
    begin_frames: int
    rate_declared: bool = True


@dataclass(frozen=True)
class Bench:
    """A loaded bench file.

    Attributes:
        substeps: physics steps between two frames.
        measured, commanded: channels of the logs.
        knobs: all fit variables by full name.
        places: fit variable -> the numbers of the model that it sets.
        constants: constant of a log -> the numbers of the model that it sets.
        fit: names of the variables that are fitted by default.
        digest: SHA-256 of the bench file's content and of its model files.
    """

    path: Path
    name: str
    model: mujoco.MjModel
    substeps: int
    logs: LogConfig
    measured: tuple[ChannelMap, ...]
    commanded: tuple[ChannelMap, ...]
    drive: DriveConfig | None
    knobs: dict[str, Knob]
    places: dict[str, tuple[Place, ...]]
    constants: dict[str, tuple[Place, ...]]
    fit: tuple[str, ...]
    digest: str
    search: Search = "slopes"

    @property
    def compared(self) -> tuple[ChannelMap, ...]:
        return tuple(channel for channel in self.measured if channel.compared)


def load_bench(path: Path) -> Bench:
    """Read a bench file and compile its model."""
    value, lines = read_yaml(path)
    root = Section(str(path), "", value, lines)
    logs = _read_logs(root.section("logs"))
    twin = root.section("twin")
    spec, sources = _read_model(twin, path.parent)
    timestep_ms = twin.number("timestep_ms", 5.0, low=0.1, high=50)
    twin.finish()
    substeps = substeps_of(logs.rate_hz, timestep_ms)
    spec.option.timestep = 1 / logs.rate_hz / substeps
    # Static friction and strong braking need an implicit integrator.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot compile its model: {error}") from None
    drive, knobs = _read_drive(root.section("drive"), model)
    if drive is not None:
        # The drive computes the torque, and logs may exceed the joint limits of the model.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.jnt_limited[[model.joint(name).id for name in drive.joints]] = False
    places: dict[str, tuple[Place, ...]] = {}
    section = root.section("parameters")
    for name in section:
        knobs[name], places[name] = read_parameter(section.section(name), name, model)
    section.finish()
    constants_section = root.section("constants")
    constants = {name: read_places(constants_section, name, model) for name in constants_section}
    constants_section.finish()
    bench = Bench(
        path=path,
        name=path.stem,
        model=model,
        substeps=substeps,
        logs=logs,
        measured=read_channels(root.section("measured"), model, knobs),
        commanded=read_channels(root.section("commanded"), model, knobs),
        drive=drive,
        knobs=knobs,
        places=places,
        constants=constants,
        fit=_read_fit(root, knobs),
        digest=_digest(value, sources),
        search=root.one_of("search", "slopes", {word: word for word in get_args(Search)}),
    )
    root.finish()
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


def _read_model(section: Section, folder: Path) -> tuple[mujoco.MjSpec, list[Path]]:
    if ("robot" in section) == ("mjcf" in section):
        raise section.error("", "names a robot or an mjcf file: one of the two was expected")
    if "robot" in section:
        return section.one_of("robot", "", robots()).build(), []
    path = folder / section.text("mjcf", "")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise section.error("mjcf", f"is {path}; a file in the folder of the bench file was expected")
    sources = checked_files(path)
    try:
        return mujoco.MjSpec.from_file(str(path)), sources
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot read it: {error}") from None


def _read_logs(section: Section) -> LogConfig:
    config = LogConfig(
        format=section.one_of("format", "json", {name: name for name in FORMATS}),
        files=section.text("files", "*"),
        rows=section.text("rows", "entries"),
        time=section.text("time", ""),
        rate_hz=section.number("rate_hz", 0.0, low=0.1, high=100_000),
        begin_frames=section.integer("begin_frames", 1, low=1, high=1000),
        rate_declared=section.raw("rate_hz") is not None,
    )
    if not config.rate_declared:
        if (config.format in ("json", "csv") and not config.time) or config.format == "npz":
            raise section.error("rate_hz", "is missing; logs without a time column need their frames a second")
        config = replace(config, rate_hz=UNDECLARED_HZ)
    section.finish()
    return config


def _read_drive(section: Section, model: mujoco.MjModel) -> tuple[DriveConfig | None, dict[str, Knob]]:
    if "model" not in section:
        section.finish()
        return None, {}
    kind = section.one_of("model", "", DRIVES)
    joints = section.texts("joints")
    for joint in joints:
        named(section, "joints", model, "joint", joint)
    inputs_section = section.section("inputs")
    inputs = {}
    for name in kind.inputs:
        given = inputs_section.raw(name)
        if isinstance(given, dict):
            entry = inputs_section.section(name)
            inputs[name] = (entry.text("constant", name), entry.number("scale", 1.0, low=-1e9, high=1e9))
            entry.finish()
        else:
            inputs[name] = ("", inputs_section.number(name, kind.inputs[name], low=-1e9, high=1e9))
    inputs_section.finish()
    knobs: dict[str, Knob] = {}
    parameters = section.section("parameters")
    for knob in kind.knobs:
        every = _changed(parameters, knob)
        for joint in joints:
            own = parameters.section(joint) if joint in parameters else None
            full = f"{joint}.{knob.name}"
            knobs[full] = _renamed(every if own is None else _changed(own, every), full)
    for joint in joints:
        if joint in parameters:
            own = parameters.section(joint)
            for knob in kind.knobs:
                own.raw(knob.name)
            own.finish()
    parameters.finish()
    drive = DriveConfig(section.text("model", ""), joints, section.text("enabled", ""), inputs)
    section.finish()
    return drive, knobs


def _changed(section: Section, knob: Knob) -> Knob:
    """The fit variable with the entries of the file: a number (its value), or `value`, `low` and `high`."""
    given = section.raw(knob.name)
    if given is None:
        return knob
    if is_number(given):
        entry_value, low, high = float(given), min(knob.low, given), max(knob.high, given)
    else:
        entry = section.section(knob.name)
        low, high = (
            entry.number("low", knob.low, low=-1e9, high=1e9),
            entry.number("high", knob.high, low=-1e9, high=1e9),
        )
        entry_value = entry.number("value", min(max(knob.value, low), high), low=low, high=high)
        entry.finish()
    if not low < high:
        raise section.error(knob.name, f"has bounds {low:g} to {high:g}; the smaller one first")
    if knob.log and low <= 0:
        raise section.error(knob.name, f"is {entry_value:g}, bounds {low:g} to {high:g}; it must stay above 0")
    return Knob(knob.name, knob.unit, entry_value, low, high, knob.reveals, knob.log, knob.row, knob.row_scale)


def _renamed(knob: Knob, name: str) -> Knob:
    return Knob(name, knob.unit, knob.value, knob.low, knob.high, knob.reveals, knob.log, knob.row, knob.row_scale)


def _read_fit(root: Section, knobs: dict[str, Knob]) -> tuple[str, ...]:
    if "fit" not in root:
        return ()
    return expand(root.texts("fit"), knobs, lambda problem: root.error("fit", problem))


def expand(names: tuple[str, ...], knobs: dict[str, Knob], error) -> tuple[str, ...]:
    """Full names of fit variables. `stiffness_nm_rad` selects that of every joint, `elbow` all of one joint."""
    found: list[str] = []
    for name in names:
        matches = [full for full in knobs if name in (full, full.rpartition(".")[2], full.rpartition(".")[0])]
        if not matches:
            raise error(f"names {name!r}, which cannot be fitted; {nearest(name, knobs)}")
        found += [full for full in matches if full not in found]
    return tuple(found)


def _digest(value: dict[str, Any], sources: list[Path]) -> str:
    whole = hashlib.sha256(json.dumps(value, sort_keys=True).encode())
    for source in sources:
        whole.update(source.read_bytes())
    return whole.hexdigest()

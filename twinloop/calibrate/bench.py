"""Bench: a twin that logs can be held against: a model, what the logs' columns mean in it, and what may be fitted.

Every key of the file is read here and nowhere else; docs/calibrating.md lists them.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import mujoco

from twinloop.calibrate.logs import FORMATS, Log, read_logs
from twinloop.calibrate.models import DRIVES, Knob
from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import read_yaml
from twinloop.errors import ModelError, UsageError, nearest
from twinloop.twin.robots import robots
from twinloop.twin.robots.mjcf_file import checked_files

Of = Literal["position", "velocity", "place", "turn", "linear_velocity", "angular_velocity"]
Search = Literal["slopes", "population"]
"""How knobs are found: downhill, or, where motion is chaotic and slopes say nothing, by a population."""
WIDTH: dict[str, int] = {
    "position": 1,
    "velocity": 1,
    "place": 3,
    "turn": 4,
    "linear_velocity": 3,
    "angular_velocity": 3,
}


@dataclass(frozen=True)
class ChannelMap:
    """A column (or some of its elements) as a quantity of the model: model = scale · logged + offset.

    `of`: the position or velocity of a hinge or slide; the place, turn (quaternion, w first), linear or (in the
    body's frame) angular velocity of a free joint. `joint` is empty for a column that drives an actuator.
    `compared`: replay holds it against the twin; a channel that is not only says how a recording begins.
    """

    name: str
    column: str
    elements: tuple[int | str, ...]
    joint: str
    actuator: str
    of: Of
    unit: str
    scale: float
    offset: float
    compared: bool


@dataclass(frozen=True)
class Place:
    """One number of a compiled model: a field, whose row, which element; `scale` times the value goes in."""

    field: str
    of: str
    element: int | None
    scale: float = 1.0


@dataclass(frozen=True)
class DriveConfig:
    """`inputs`: name -> a number, or the logs' constant it is read from and what that is multiplied with."""

    model: str
    joints: tuple[str, ...]
    enabled: str
    inputs: dict[str, tuple[str, float]]


@dataclass(frozen=True)
class LogConfig:
    """`begin_frames`: of a free flight that tells how an undriven thing begins; 1: the first frame, as logged."""

    format: str
    files: str
    rows: str
    time: str
    rate_hz: float
    begin_frames: int


@dataclass(frozen=True)
class Bench:
    """`knobs` holds all that can be fitted, by full name; `places` those that are numbers of the model.
    `constants`: what a log says of itself that goes into the model. `fit`: what is fitted unless asked otherwise."""

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
    value, lines = read_yaml(path)
    root = Section(str(path), "", value, lines)
    logs = _read_logs(root.section("logs"))
    twin = root.section("twin")
    spec, sources = _read_model(twin, path.parent)
    timestep_ms = twin.number("timestep_ms", 5.0, low=0.1, high=50)
    twin.finish()
    # A whole number of physics steps fills the time between two frames.
    substeps = max(1, round(1000 / logs.rate_hz / timestep_ms))
    spec.option.timestep = 1 / logs.rate_hz / substeps
    # Friction that holds and strong braking want an integrator that takes both as they come.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot compile its model: {error}") from None
    drive, knobs = _read_drive(root.section("drive"), model)
    if drive is not None:
        # Torque comes from the drive, and how far its joints go is what the logs say, not the model's stops.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.jnt_limited[[model.joint(name).id for name in drive.joints]] = False
    places: dict[str, tuple[Place, ...]] = {}
    section = root.section("parameters")
    for name in section:
        knobs[name], places[name] = _read_parameter(section.section(name), name, model)
    section.finish()
    constants_section = root.section("constants")
    constants = {name: _read_places(constants_section, name, model) for name in constants_section}
    constants_section.finish()
    bench = Bench(
        path=path,
        name=path.stem,
        model=model,
        substeps=substeps,
        logs=logs,
        measured=_read_channels(root.section("measured"), model),
        commanded=_read_channels(root.section("commanded"), model),
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
    """What lies at `path`, read as the bench file says such logs are."""
    config = bench.logs
    return read_logs(
        path, format=config.format, files=config.files, rows=config.rows, time=config.time, rate_hz=config.rate_hz
    )


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
    )
    if config.rate_hz == 0:
        raise section.error("rate_hz", "is missing; how many frames a second do the logs have?")
    section.finish()
    return config


def _read_channels(section: Section, model: mujoco.MjModel) -> tuple[ChannelMap, ...]:
    channels = []
    for name in section:
        entry = section.section(name)
        of = entry.one_of("of", "position", {word: word for word in get_args(Of)})
        joint, actuator = entry.text("joint", ""), entry.text("actuator", "")
        if joint:
            named(entry, "joint", model, "joint", joint)
        if actuator:
            named(entry, "actuator", model, "actuator", actuator)
        elements = entry.raw("elements")
        if elements is None:
            elements = [0] if WIDTH[of] == 1 else list(range(WIDTH[of]))
        if not isinstance(elements, list) or len(elements) != WIDTH[of]:
            raise entry.error("elements", f"is {elements!r}; {WIDTH[of]} numbers or names were expected for {of}")
        channels.append(
            ChannelMap(
                name=name,
                column=entry.text("column", name),
                elements=tuple(elements),
                joint=joint,
                actuator=actuator,
                of=of,
                unit=entry.text("unit", "rad"),
                scale=entry.number("scale", 1.0, low=-1e9, high=1e9),
                offset=entry.number("offset", 0.0, low=-1e9, high=1e9),
                compared=entry.flag("compared", True),
            )
        )
        if channels[-1].scale == 0:
            raise entry.error("scale", "is 0; what is logged would mean nothing")
        entry.finish()
    section.finish()
    return tuple(channels)


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
    """A knob with what a file says of it: a number (its value), or value, low and high."""
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


def _read_parameter(section: Section, name: str, model: mujoco.MjModel) -> tuple[Knob, tuple[Place, ...]]:
    """A number of the model itself: `{field: geom_friction, of: cube, element: 0, value: 0.5, low: 0.05, high: 2}`."""
    low, high = section.number("low", 0.0, low=-1e9, high=1e9), section.number("high", 0.0, low=-1e9, high=1e9)
    if not low < high:
        raise section.error("low", f"and high are {low:g} and {high:g}; bounds are needed, the smaller one first")
    knob = Knob(
        name=name,
        unit=section.text("unit", "1"),
        value=section.number("value", (low + high) / 2, low=low, high=high),
        low=low,
        high=high,
        reveals=section.text("reveals", "motion that this number changes"),
        log=section.flag("log", False),
        row=section.text("row", ""),
        row_scale=section.number("row_scale", 1.0, low=-1e9, high=1e9),
    )
    if knob.log and knob.low <= 0:
        raise section.error("low", f"is {knob.low:g}; a number searched by its logarithm must stay above 0")
    places = _read_place(section, model)
    section.finish()
    return knob, places


def _read_places(section: Section, name: str, model: mujoco.MjModel) -> tuple[Place, ...]:
    given = section.raw(name)
    items = given if isinstance(given, list) else [given]
    places = []
    for index, item in enumerate(items):
        entry = section.item(name, index, item) if isinstance(given, list) else section.section(name)
        places += _read_place(entry, model)
        entry.finish()
    return tuple(places)


def _read_place(section: Section, model: mujoco.MjModel) -> tuple[Place, ...]:
    """`element` is a number, or a list of those that all get the value."""
    field = section.text("field", "")
    kind = field.partition("_")[0]
    if not hasattr(model, field) or kind not in ("body", "geom", "pair", "dof", "jnt", "actuator"):
        said = f"is {field!r}; a field of bodies, geoms, contact pairs, joints, dofs or actuators was expected"
        raise section.error("field", said)
    of = section.text("of", "")
    named(section, "of", model, {"dof": "joint", "jnt": "joint"}.get(kind, kind), of)
    shape, scale = getattr(model, field).shape, section.number("scale", 1.0, low=-1e9, high=1e9)
    given = section.raw("element")
    if len(shape) == 1:
        if given is not None:
            raise section.error("element", f"is {given!r}; {field} is one number, not several")
        return (Place(field, of, None, scale),)
    elements = given if isinstance(given, list) else [0 if given is None else given]
    for each in elements:
        if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each < shape[1]:
            raise section.error("element", f"is {given!r}; numbers from 0 to {shape[1] - 1} were expected")
    return tuple(Place(field, of, each, scale) for each in elements)


def named(section: Section, key: str, model: mujoco.MjModel, kind: str, name: str) -> int:
    """The id of a thing of the model, or an error that lists those there are."""
    counts = {"body": model.nbody, "geom": model.ngeom, "pair": model.npair, "joint": model.njnt, "actuator": model.nu}
    names = [getattr(model, kind)(index).name for index in range(counts[kind])]
    if name not in names:
        raise section.error(key, f"names {kind} {name!r}, which the model does not have; {nearest(name, names)}")
    return names.index(name)


def _read_fit(root: Section, knobs: dict[str, Knob]) -> tuple[str, ...]:
    if "fit" not in root:
        return ()
    return expand(root.texts("fit"), knobs, lambda problem: root.error("fit", problem))


def expand(names: tuple[str, ...], knobs: dict[str, Knob], error) -> tuple[str, ...]:
    """Full names of knobs; `stiffness_nm_rad` alone stands for that of every joint, `elbow` for all of one joint."""
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

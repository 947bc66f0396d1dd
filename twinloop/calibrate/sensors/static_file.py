"""Static file: describes logs of sensors at rest and scans. It has `sensors` and `scans` where a bench has a model."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from twinloop.calibrate.logs import FORMATS
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml

Kind = Literal["encoder", "gyroscope", "accelerometer", "force", "torque", "effort", "tracker"]


@dataclass(frozen=True)
class SensorConfig:
    """One sensor of the logs.

    Attributes:
        columns, elements: columns of the log, and the elements to use; all if `elements` is empty.
        scale: factor from readings to SI units: rad, rad/s, m/s², N, N·m, m.
        zeroed: whether the sensor was zeroed just before each log.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    elements: tuple[int, ...]
    scale: float
    zeroed: bool


@dataclass(frozen=True)
class StaticFile:
    """A static file.

    Attributes:
        files, rows, time, rate_hz: how logs are read, as in a bench file.
        control_hz: control rate of the twin, to which the noise rows of the parameter table refer.
        scans: pattern of file names of scans; empty if there are none.
    """

    path: Path
    format: str
    files: str
    rows: str
    time: str
    rate_hz: float
    control_hz: float
    sensors: tuple[SensorConfig, ...]
    scans: str
    digest: str


def is_static(path: Path) -> bool:
    """Whether a file describes sensors at rest (not a bench)."""
    value, _ = read_yaml(path)
    return "sensors" in value or "scans" in value


def load_static(path: Path) -> StaticFile:
    """Read a static file."""
    value, lines = read_yaml(path)
    root = Section(str(path), "", value, lines)
    twin = root.section("twin")
    control_hz = twin.number("control_hz", 25.0, low=1, high=1000)
    twin.finish()
    logs = root.section("logs")
    form = logs.one_of("format", "npz", {name: name for name in FORMATS})
    files, rows, time = logs.text("files", "*"), logs.text("rows", "entries"), logs.text("time", "")
    rate_hz = logs.number("rate_hz", 0.0, low=0.0, high=100_000)
    section = root.section("sensors")
    sensors = tuple(_read_sensor(section.section(name), name) for name in section)
    section.finish()
    if sensors and rate_hz == 0:
        raise logs.error("rate_hz", "is missing; how many readings a second do the logs have?")
    logs.finish()
    scans = root.section("scans")
    pattern = scans.text("files", "*.pcd") if "scans" in root else ""
    scans.finish()
    root.finish()
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    return StaticFile(path, form, files, rows, time, rate_hz, control_hz, sensors, pattern, digest)


def _read_sensor(section: Section, name: str) -> SensorConfig:
    columns = section.texts("columns") if "columns" in section else (section.text("column", name),)
    elements = section.raw("elements")
    if elements is None:
        elements = []
    if not isinstance(elements, list) or not all(isinstance(element, int) and element >= 0 for element in elements):
        raise section.error("elements", f"is {elements!r}; a list of numbers of elements was expected, e.g. [0, 1, 2]")
    kind = section.one_of("kind", "", {word: word for word in get_args(Kind)})
    sensor = SensorConfig(
        name=name,
        kind=kind,
        columns=tuple(columns),
        elements=tuple(elements),
        scale=section.number("scale", 1.0, low=-1e9, high=1e9),
        zeroed=section.flag("zeroed", False),
    )
    section.finish()
    return sensor

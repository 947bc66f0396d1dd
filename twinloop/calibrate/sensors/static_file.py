"""Static file: describes logs of sensors at rest and scans. It has `sensors` and `scans` where a bench has a model."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from twinloop.calibrate.bench_file import LogFormat
from twinloop.calibrate.logs import FORMATS
from twinloop.config.fields import flag, internal, listed, number, text, texts, word
from twinloop.config.kinds import Integer
from twinloop.config.record import by_name, json_schema, nested, read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml

SensorKind = Literal["encoder", "gyroscope", "accelerometer", "force", "torque", "effort", "tracker"]


@dataclass(frozen=True, kw_only=True)
class SensorConfig:
    """One sensor of the logs. `columns` has the column's name, or the sensor's, where the file gives none."""

    name: str = internal()
    kind: SensorKind = word(words=get_args(SensorKind), help="what it measures")
    column: str = text("", help="column of the log", otherwise="the name of the sensor")
    columns: tuple[str, ...] = texts((), help="several columns, joined")
    elements: tuple[int, ...] = listed(
        Integer(low=0), (), what="element", help="elements to use; all if none are given"
    )
    scale: float = number(1.0, help="factor from readings to SI units: rad, rad/s, m/s², N, N·m, m")
    zeroed: bool = flag(False, help="the sensor was zeroed just before each log")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.columns or (self.column or self.name,))


@dataclass(frozen=True)
class StaticLogs(LogFormat):
    format: str = word("npz", words=FORMATS, help="format of the files")


@dataclass(frozen=True)
class StaticTwin:
    control_hz: float = number(25.0, low=1, high=1000, unit="Hz", help="control rate of the twin: that of its noise")


@dataclass(frozen=True)
class ScanFiles:
    files: str = text("*.pcd", help="pattern of file names")


@dataclass(frozen=True)
class StaticFile:
    """A static file. `digest` is the SHA-256 of its content."""

    path: Path = internal()
    digest: str = internal()
    twin: StaticTwin = nested(StaticTwin, help="the twin that the estimates are for")
    logs: StaticLogs = nested(StaticLogs, help="how logs are read")
    sensors: tuple[SensorConfig, ...] = by_name(
        SensorConfig, named="name", most=None, what="sensor", help="sensors at rest, by name"
    )
    scans: ScanFiles | None = nested(ScanFiles, optional=True, help="scans of a flat table")

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.sensors and self.logs.rate_hz is None:
            yield "logs.rate_hz", "is missing; how many readings a second do the logs have?"


def is_static(path: Path) -> bool:
    """Whether a file describes sensors at rest (not a bench)."""
    value, _ = read_yaml(path)
    return "sensors" in value or "scans" in value


def load_static(path: Path) -> StaticFile:
    """Read a static file."""
    value, lines = read_yaml(path)
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    return read_record(StaticFile, Section(str(path), "", value, lines), given={"path": path, "digest": digest})


def static_schema() -> dict[str, Any]:
    """JSON Schema of a static file."""
    return json_schema(StaticFile, title="Twinloop sensors at rest")

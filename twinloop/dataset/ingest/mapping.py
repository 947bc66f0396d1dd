"""MappingConfig: features, source columns, units and rate of a log, resolved from a mapping file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml
from twinloop.dataset.ingest.mapping_file import CsvConfig, FromColumn, MappingFile
from twinloop.dataset.ingest.units import Conversion, spelled


@dataclass(frozen=True)
class ColumnMap:
    """One feature of a mapping.

    Attributes:
        sources: `column`, `column[3]` or `column[0:3]`; their elements are concatenated.
        names: one per element, or none.
        conversions: one per element, or a single one for all.
    """

    name: str
    sources: tuple[str, ...]
    names: tuple[str, ...] = ()
    conversions: tuple[Conversion, ...] = (Conversion(),)


@dataclass(frozen=True)
class MappingConfig:
    """How the columns of a log become features and episodes.

    Attributes:
        episodes: `file` (one per file), `column:NAME` (one per value of a column) or `keys:PATTERN` (one per matching
            key).
        task, outcome: the same for all episodes; "" if they are read from the column or key `..._from`.
        robot: name of the robot, or "".
    """

    columns: tuple[ColumnMap, ...] = ()
    format: str = ""
    files: str = ""
    rows: str = ""
    csv: CsvConfig = field(default_factory=CsvConfig)
    rate_hz: float | None = None
    time_column: str = ""
    time_unit: str = "s"
    episodes: str = "file"
    robot: str = ""
    task: str = ""
    task_from: str = ""
    outcome: str = ""
    outcome_from: str = ""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(write_record(self), sort_keys=True).encode()).hexdigest()


def load_mapping(path: Path) -> MappingConfig:
    file = read_record(MappingFile, Section(str(path), "", *read_yaml(path)))
    columns = tuple(
        ColumnMap(column.name, column.sources, column.names, column.conversions()) for column in file.columns
    )
    return MappingConfig(
        columns=columns,
        format=file.format,
        files=file.files,
        rows=file.rows,
        csv=file.csv,
        rate_hz=file.rate_hz,
        time_column=file.time.column,
        time_unit=spelled(file.time.unit),
        episodes=file.episodes if isinstance(file.episodes, str) else file.episodes.rule,
        robot=file.robot,
        task="" if isinstance(file.task, FromColumn) else file.task,
        task_from=file.task.column if isinstance(file.task, FromColumn) else "",
        outcome="" if isinstance(file.outcome, FromColumn) else file.outcome,
        outcome_from=file.outcome.column if isinstance(file.outcome, FromColumn) else "",
        limits=file.limits,
        conditions=file.conditions,
    )

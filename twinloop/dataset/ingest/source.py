"""IngestSource: recordings from elsewhere, read an episode at a time. A module a format implements it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from twinloop.curate.quality.checks.reading import RAGGED_COLUMNS, TRUNCATED_FILE
from twinloop.curate.quality.finding import QualityFinding
from twinloop.dataset.ingest.mapping import ColumnMap
from twinloop.errors import DatasetError

Outcome = Literal["success", "failure", "unknown"]
PictureKind = Literal["video", "depth", "mask"]


class Unreadable(DatasetError):
    """One episode cannot be read. It becomes the verdict of that episode; the others are read."""

    def __init__(self, problem: str, *, check: Literal["truncated_file", "ragged_columns"] = "truncated_file"):
        super().__init__(problem)
        self.check = check

    @property
    def finding(self) -> QualityFinding:
        check = RAGGED_COLUMNS if self.check == "ragged_columns" else TRUNCATED_FILE
        return check.finding("", (0, 0), 1, 0, "files", str(self))


@dataclass(frozen=True)
class PictureFormat:
    """What kind of pictures a camera's are, and their size in pixels. names: of the ids of a mask."""

    kind: PictureKind
    height: int
    width: int
    names: tuple[str, ...] = ()


class Film(Protocol):
    """Pictures of one camera over one episode."""

    def pictures(self, look: PictureFormat) -> Iterator[np.ndarray]:
        """(height, width, 3) uint8 in RGB, (height, width) uint16 codes of depth or uint8 ids, in order of time."""
        ...

    @property
    def rate_hz(self) -> float:
        """By the file's own clock; 0 where it has none."""
        ...

    @property
    def file(self) -> Path | None:
        """The video it is a part of, where it is one."""
        ...


@dataclass(frozen=True)
class RawEpisode:
    """columns: as recorded, (rows,) or (rows, d), of the dtype they were recorded in.
    time_s: (rows,) float64, as recorded; None where the source has no clock.
    facts: what is known of the whole episode, for its `condition/...` columns.
    notes: what was left out while the episode was read, one sentence each.
    """

    index: int
    label: str
    rows: int
    columns: Mapping[str, np.ndarray]
    time_s: np.ndarray | None = None
    films: Mapping[str, Film] = field(default_factory=dict)
    task: str = ""
    outcome: Outcome = "unknown"
    outcome_by: str = ""
    recorded_at: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[QualityFinding, ...]:
        """The notes as findings that do not reject the episode."""
        last = max(self.rows - 1, 0)
        return tuple(
            TRUNCATED_FILE.finding("", (last, last), 1, 0, "lines", note, severity="note") for note in self.notes
        )


class IngestSource(Protocol):
    """kind: of format. rate_hz: as declared, None where nobody does. robot: as the source calls it.
    looks: picture name -> what its pictures are. left_out: what is not read, and why.
    """

    kind: str
    rate_hz: float | None
    robot: str

    @property
    def looks(self) -> Mapping[str, PictureFormat]: ...

    @property
    def left_out(self) -> Mapping[str, str]: ...

    def __len__(self) -> int: ...

    def label(self, index: int) -> str:
        """Name of an episode in the source: a file or a group."""
        ...

    def read(self, index: int) -> RawEpisode:
        """One episode, or Unreadable."""
        ...

    def columns(self) -> tuple[ColumnMap, ...]:
        """The default features, used if there is no mapping."""
        ...

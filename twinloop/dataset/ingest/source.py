"""IngestSource: recordings in another format, read one episode at a time. Each format has a module."""

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
    """Kind and size of a camera's images. names: names of the ids of a mask."""

    kind: PictureKind
    height: int
    width: int
    names: tuple[str, ...] = ()


class Film(Protocol):
    """The images of one camera in one episode."""

    def pictures(self, look: PictureFormat) -> Iterator[np.ndarray]:
        """Yield the images in order: (height, width, 3) uint8 RGB, (height, width) uint16 depth codes or uint8 ids."""
        ...

    @property
    def rate_hz(self) -> float:
        """Rate by the file's own clock; 0 if it has none."""
        ...

    @property
    def file(self) -> Path | None:
        """The video file that contains the images, if there is one."""
        ...


@dataclass(frozen=True)
class RawEpisode:
    """One episode as recorded.

    Attributes:
        columns: name -> (rows,) or (rows, d), in the recorded dtype.
        time_s: (rows,) float64, recorded clock; None if the source has none.
        outcome_by: who determined the outcome.
        facts: values of the whole episode, for its `condition/...` columns.
        notes: one sentence for each part that could not be read.
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
    """A source of recorded episodes.

    Attributes:
        kind: name of the format.
        rate_hz: declared rate; None if there is none.
        robot: name of the robot in the source.
        looks: image feature -> its format.
        left_out: part that is not read -> reason.
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
        """Read one episode.

        Raises:
            Unreadable: the episode is damaged.
        """
        ...

    def columns(self) -> tuple[ColumnMap, ...]:
        """The default features, used if there is no mapping."""
        ...

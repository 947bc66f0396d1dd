"""RerunLog: an open recording of one episode. Columns are written at once; every row has its time and frame number."""

from collections.abc import Iterable

import numpy as np
import rerun as rr

TIME, FRAME = "time", "frame"


class RerunLog:
    """entities: the written paths, in order."""

    def __init__(self, stream: rr.RecordingStream, time_s: np.ndarray):
        self._stream, self._time_s = stream, time_s
        self.entities: list[str] = []

    @property
    def frames(self) -> int:
        return len(self._time_s)

    def columns(self, path: str, columns: Iterable[rr.ComponentColumn], at: np.ndarray | None = None) -> None:
        """Write columns of the frames `at` (default: all frames)."""
        at = np.arange(len(self._time_s)) if at is None else np.asarray(at)
        times = [rr.TimeColumn(TIME, duration=self._time_s[at]), rr.TimeColumn(FRAME, sequence=at)]
        rr.send_columns(path, times, columns, recording=self._stream, strict=True)
        self._note(path)

    def static(self, path: str, *components: rr.AsComponents) -> None:
        """Write components that hold for the whole episode."""
        rr.log(path, *components, static=True, recording=self._stream, strict=True)
        self._note(path)

    def _note(self, path: str) -> None:
        if path not in self.entities:
            self.entities.append(path)

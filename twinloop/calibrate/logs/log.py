"""Log: one recording of a real robot, sensor or object as columns over time."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Log:
    """One recording.

    Attributes:
        name: unique among the logs that were read together.
        time_s: (frames,) stamps.
        columns: name -> (frames, elements); NaN where a number is missing.
        constants: numbers that the file gives once for the recording.
        names: column -> names of its elements, where the file gives them.
        digest: SHA-256 of the file.
    """

    name: str
    time_s: np.ndarray
    columns: dict[str, np.ndarray]
    constants: dict[str, float] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""

    def __len__(self) -> int:
        return len(self.time_s)

    def select(self, frames: slice) -> "Log":
        columns = {name: column[frames] for name, column in self.columns.items()}
        return Log(self.name, self.time_s[frames], columns, self.constants, self.names, self.digest)

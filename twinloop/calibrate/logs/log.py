"""Log: one recording of a real thing, as columns over time, whatever file it came from."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Log:
    """`columns` are (frames, elements); `names` are those of their elements, where the file tells them.
    `constants` are what the file says once of the whole recording. `digest` is that of the file's bytes."""

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

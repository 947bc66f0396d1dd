"""QualityFinding: one thing that is wrong with a recording, where, and by how much."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "note"]


@dataclass(frozen=True)
class QualityFinding:
    """check: its name, which is the verdict of an episode it rejects. severity: an error rejects, a note does not.
    channel: `observation.state/elbow`, a feature, or "" for the episode. first, last: frames, both included.
    measured, limit: what was compared, in `unit`. said: one sentence for whoever has to repair it.
    storable: may the rows be stored all the same?
    """

    check: str
    severity: Severity
    channel: str
    first: int
    last: int
    measured: float
    limit: float
    unit: str
    said: str
    storable: bool = True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "QualityFinding":
        return cls(**value)

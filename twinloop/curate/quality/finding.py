"""QualityFinding: one fault of a recording, with place and size."""

from dataclasses import dataclass
from typing import Literal

from twinloop.config.fields import text

Severity = Literal["error", "note"]


@dataclass(frozen=True)
class QualityFinding:
    """One fault of a recording.

    Attributes:
        check: name of the check, and the verdict if it rejects the episode.
        severity: an error rejects the episode, a note does not.
        channel: `observation.state/elbow`, a feature, or "" for the whole episode.
        first, last: rows, both included.
        measured, limit: compared values, in `unit`.
        message: one sentence for the user.
        storable: the rows can be stored.
    """

    check: str
    severity: Severity
    channel: str
    first: int
    last: int
    measured: float
    limit: float
    unit: str
    message: str = text(key="said", help="one sentence for the user; the key is that of stored datasets")
    storable: bool = True

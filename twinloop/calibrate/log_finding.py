"""LogFinding: the result of a check of calibration logs."""

from dataclasses import dataclass
from typing import Literal

LogSeverity = Literal["refused", "dropped", "warning", "note"]


@dataclass(frozen=True)
class LogFinding:
    """The result of a check.

    Attributes:
        severity: `refused` stops a fit, `dropped` leaves the log out; the others are only printed.
        kind: name of the check.
        where: log or channel.
        message: what was found.
    """

    severity: LogSeverity
    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"

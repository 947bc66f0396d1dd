"""What the command line may say about a source beyond its mapping."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class IngestOptions:
    """pictures: "auto" keeps the cameras that every episode has, "all" every camera, "none" none.
    rate_hz, robot, task, outcome: instead of what the source says; "" and None leave it."""

    pictures: Literal["auto", "all", "none"] = "auto"
    rate_hz: float | None = None
    robot: str = ""
    task: str = ""
    outcome: str = ""

"""Options of the command line that replace or complete the metadata of a source."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class IngestOptions:
    """Options of one ingest.

    Attributes:
        pictures: "auto" keeps the cameras that nearly all episodes have, "all" every camera, "none" no camera.
            Episodes without a video of a kept camera are rejected.
        rate_hz, robot, task, outcome: replace the value of the source; "" and None keep it.
    """

    pictures: Literal["auto", "all", "none"] = "auto"
    rate_hz: float | None = None
    robot: str = ""
    task: str = ""
    outcome: str = ""

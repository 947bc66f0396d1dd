"""Progress of a run that fills a dataset, and its log, which the report shows."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.durable import storage_errors

from .manifest import ShardEntry

RUNS = "runs.jsonl"


@dataclass(frozen=True)
class GenerateProgress:
    """Progress of a run.

    Attributes:
        planned, attempted, accepted, frames: of the whole dataset, including earlier sessions.
        fresh, seconds: episodes and time of this session.
    """

    planned: int
    attempted: int
    accepted: int
    frames: int
    fresh: int
    seconds: float

    @property
    def rejected(self) -> int:
        return self.attempted - self.accepted

    @property
    def trajectories_per_second(self) -> float:
        """Rate of this session."""
        return self.fresh / self.seconds if self.seconds > 0 else 0.0


class GenerateClock:
    """Counts and times a session. The log is for the report and is not part of the dataset's digest."""

    def __init__(self, entries: Sequence[ShardEntry], planned: int):
        self._base = GenerateProgress(
            planned=planned,
            attempted=sum(entry.stop - entry.first for entry in entries),
            accepted=sum(entry.accepted for entry in entries),
            frames=sum(entry.frames for entry in entries),
            fresh=0,
            seconds=0.0,
        )
        self._now = self._base
        self._start = time.perf_counter()
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._timeline: list[tuple[float, int]] = []

    def progress(self) -> GenerateProgress:
        return self._now

    def tick(self, attempted: int, accepted: int, frames: int) -> GenerateProgress:
        now = self._now
        self._now = replace(
            now,
            attempted=now.attempted + attempted,
            accepted=now.accepted + accepted,
            frames=now.frames + frames,
            fresh=now.fresh + attempted,
            seconds=time.perf_counter() - self._start,
        )
        self._timeline.append((round(self._now.seconds, 3), self._now.fresh))
        return self._now

    def write_log(self, out: Path, workers: int) -> None:
        if not self._timeline:
            return
        line = {
            "started": self._started,
            "seconds": round(self._now.seconds, 3),
            "episodes": self._now.fresh,
            "workers": workers,
            "timeline": self._timeline,
        }
        with storage_errors(out), (out / RUNS).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

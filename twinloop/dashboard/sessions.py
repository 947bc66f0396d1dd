"""Sessions: when and how fast a run worked, from the log that `generate` writes beside the data."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset.progress import RUNS


@dataclass(frozen=True)
class Session:
    """One call of `generate`. timeline: (seconds since the start, episodes so far), in order."""

    started: str
    seconds: float
    episodes: int
    workers: int
    timeline: tuple[tuple[float, int], ...]

    @property
    def trajectories_per_second(self) -> float:
        return self.episodes / self.seconds if self.seconds > 0 else 0.0


def read_sessions(dataset_path: Path) -> tuple[Session, ...]:
    """The sessions in order. A session that was killed left no complete line and is skipped."""
    try:
        lines = (dataset_path / RUNS).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    sessions = (_session(line) for line in lines if line.strip())
    return tuple(session for session in sessions if session is not None)


def overall_rate(sessions: tuple[Session, ...]) -> float | None:
    """Trajectories per second of working time, or None if no session was timed."""
    seconds = sum(session.seconds for session in sessions)
    return sum(session.episodes for session in sessions) / seconds if seconds > 0 else None


def _session(line: str) -> Session | None:
    # The log is not part of the dataset's digest, so an unreadable line is skipped and not an error.
    try:
        value = json.loads(line)
        timeline = tuple((float(seconds), int(episodes)) for seconds, episodes in value["timeline"])
        session = Session(
            str(value["started"]), float(value["seconds"]), int(value["episodes"]), int(value["workers"]), timeline
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    numbers = [session.seconds, *(seconds for seconds, _ in timeline)]
    return session if all(math.isfinite(number) and number >= 0 for number in numbers) else None

"""RunlogEvidence: a runlog as evidence for the gate, verified before it is used."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.dataset import Dataset, dataset_digest, verify
from twinloop.dataset.real_episodes import RealEpisodes, joined, real_episodes
from twinloop.errors import CorruptError


@dataclass(frozen=True)
class RunlogEvidence:
    """A verified runlog.

    Attributes:
        robot: the robot model, as checkpoints name it.
        digest: digest of the first `attempts` episodes.
    """

    path: Path
    robot: str
    digest: str
    attempts: int
    episodes: RealEpisodes

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "runlog", "path": str(self.path), "digest": self.digest, "attempts": self.attempts,
            "rates": self.rates(),
        }  # fmt: skip

    def rates(self) -> list[dict[str, Any]]:
        """Success of each policy at each task on each robot. Demonstrations have no policy and are left out."""
        episodes, rates = self.episodes, []
        groups = dict.fromkeys(zip(episodes.robot_id, episodes.task, episodes.checkpoint, strict=True))
        for robot, task, checkpoint in groups:
            if checkpoint:
                rows = (
                    (episodes.robot_id == robot) & (episodes.task == task) & (episodes.checkpoint == checkpoint)
                )  # fmt: skip
                managed = int(episodes.managed[rows].sum())
                rates.append({"robot": robot, "task": task, "checkpoint": checkpoint, "managed": managed,
                              "trials": int(rows.sum())})  # fmt: skip
        return rates


def load_runlog(path: Path, *, trusted: bool = False) -> RunlogEvidence:
    """Verify every file of a runlog and read its episodes. `trusted`: it was verified a moment ago."""
    if not trusted:
        verify(path).require()
    dataset = Dataset.open(path)
    episodes = real_episodes(dataset)
    return RunlogEvidence(path, dataset.header.robot, dataset.digest(), len(episodes), episodes)


def require_shown(path: Path, *, attempts: int, digest: str) -> None:
    """Check that the first `attempts` episodes are unchanged since the runlog was given before. It may have grown."""
    dataset = Dataset.open(path)
    before = [entry for entry in dataset.entries if entry.stop <= attempts]
    if dataset_digest(dataset.header, before) != digest:
        raise CorruptError(
            f"{path}: its first {attempts} episodes changed since they were given as evidence; restore the runlog from "
            "a copy. Evidence cannot be withdrawn"
        )


def all_episodes(logs: Sequence[RunlogEvidence]) -> RealEpisodes:
    """Join the episodes of several runlogs."""
    return joined([log.episodes for log in logs])

"""DatasetSummary: the most important numbers of a dataset, for the report and for the terminal."""

from collections.abc import Mapping
from dataclasses import dataclass

from twinloop.curate.rates import ParameterRates, Rate, success_by_parameter
from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.attempts import Attempts, read_attempts
from twinloop.dashboard.sessions import overall_rate, read_sessions
from twinloop.dataset import Dataset

REPORT = "report.html"


@dataclass(frozen=True)
class DatasetSummary:
    """The most important numbers of a dataset.

    Attributes:
        accepted: rate over all attempts. success: rate over the attempts that were read.
        rejected: verdict -> number of attempts.
        hours: stored robot time. trajectories_per_second: per working time; None if no session was logged.
        by_parameter: success by drawn value, the strongest association first.
    """

    planned: int
    accepted: Rate
    success: Rate
    rejected: Mapping[str, int]
    stored: int
    frames: int
    hours: float
    trajectories_per_second: float | None
    digest: str
    complete: bool
    by_parameter: tuple[ParameterRates, ...]


def summarize(dataset: Dataset, attempts: Attempts | None = None) -> DatasetSummary:
    """Summarize a dataset. attempts: pass them if they have been read already."""
    attempts = read_attempts(dataset) if attempts is None else attempts
    verdicts = attempts.verdicts()
    return DatasetSummary(
        planned=dataset.header.episodes,
        accepted=Rate(verdicts.pop(ACCEPTED, 0), attempts.total),
        success=Rate(int(attempts.success.sum()), len(attempts.success)),
        rejected=verdicts,
        stored=dataset.stored,
        frames=dataset.frame_count,
        hours=dataset.frame_count / dataset.header.fps / 3600,
        trajectories_per_second=overall_rate(read_sessions(dataset.path)),
        digest=dataset.digest(),
        complete=dataset.complete,
        by_parameter=success_by_parameter(attempts.draws, attempts.success),
    )


def size_bytes(dataset: Dataset) -> int:
    """Size of shards and export. The report is left out: its size would depend on itself."""
    export = [dataset.path / name for name in ("data", "meta")]
    files = (file for folder in export for file in folder.rglob("*") if file.is_file())
    return sum(entry.size_bytes for entry in dataset.entries) + sum(file.stat().st_size for file in files)

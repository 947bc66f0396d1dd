"""ReportData: the data of a report, read once."""

from dataclasses import dataclass
from pathlib import Path

from twinloop.dashboard.attempts import Attempts, read_attempts
from twinloop.dashboard.sessions import Session, read_sessions
from twinloop.dashboard.summary import DatasetSummary, summarize
from twinloop.dataset import Dataset
from twinloop.errors import StorageError


@dataclass(frozen=True)
class ReportData:
    """config_text: the stored config, empty if the dataset has none."""

    dataset: Dataset
    attempts: Attempts
    summary: DatasetSummary
    sessions: tuple[Session, ...]
    config_text: str


def gather(dataset_path: Path) -> ReportData:
    dataset = Dataset.open(dataset_path)
    attempts = read_attempts(dataset)
    try:
        config_text = dataset.config_text()
    except StorageError:  # a writer that was killed early leaves a header without a config
        config_text = ""
    return ReportData(dataset, attempts, summarize(dataset, attempts), read_sessions(dataset.path), config_text)

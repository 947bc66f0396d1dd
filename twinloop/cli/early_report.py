"""EarlyReport: prepares the report of a run before the run ends, and drafts it while the dataset is exported."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.dataset.progress import GenerateProgress

if TYPE_CHECKING:
    from twinloop.dashboard.report import ReportDraft

PREPARED_FROM = 0.9
"""Share of a run after which the report is prepared. At the end of a run, workers wait for each other."""


class EarlyReport:
    """The report of a run that writes to the folder `out`.

    A context manager: leaving it waits for the work that has been started.
    """

    def __init__(self, out: Path, workers: int | None):
        self._out, self._workers = out, workers or os.cpu_count() or 1
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._preparing: Future[Callable[[Path], ReportDraft]] | None = None
        self._drafting: Future[ReportDraft] | None = None

    def __enter__(self) -> "EarlyReport":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def on_progress(self, progress: GenerateProgress) -> None:
        """Start the process that draws the charts when nearly all episodes are made."""
        nearly = PREPARED_FROM * progress.planned <= progress.attempted < progress.planned
        if nearly and self._preparing is None:
            self._preparing = self._thread.submit(_prepare, self._workers)

    def on_committed(self, workers: int) -> None:
        """Draft the report. All shards are committed, and the export begins."""
        self._drafting = self._thread.submit(lambda: _prepare(workers)(self._out))

    def write(self) -> Path:
        """Write the report of the exported dataset and return its path."""
        assert self._drafting is not None
        return self._drafting.result().write()


def _prepare(workers: int) -> "Callable[[Path], ReportDraft]":
    """Start the process that draws the report's charts, and return the function that drafts the report."""
    # Imported here, because these imports would delay the start of the workers.
    from twinloop.dashboard.drawing import prepare_drawing

    prepare_drawing(workers)
    from twinloop.dashboard.report import draft_report

    return draft_report

"""Pages and summaries of datasets, policies and decisions. Nothing here changes the data it shows."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.dashboard.attempts import Attempts as Attempts
    from twinloop.dashboard.attempts import read_attempts as read_attempts
    from twinloop.dashboard.report import write_report as write_report
    from twinloop.dashboard.summary import DatasetSummary as DatasetSummary
    from twinloop.dashboard.summary import summarize as summarize

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Attempts": "attempts",
        "DatasetSummary": "summary",
        "read_attempts": "attempts",
        "summarize": "summary",
        "write_report": "report",
    },
)

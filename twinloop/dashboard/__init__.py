"""Pages and summaries of datasets, policies and decisions. Nothing here changes the data it shows."""

from twinloop.curate.rates import Fall, ParameterRates, Rate, success_by_parameter

from .attempts import Attempts, read_attempts
from .report import write_report
from .summary import DatasetSummary, summarize

__all__ = [
    "Attempts",
    "DatasetSummary",
    "Fall",
    "ParameterRates",
    "Rate",
    "read_attempts",
    "success_by_parameter",
    "summarize",
    "write_report",
]

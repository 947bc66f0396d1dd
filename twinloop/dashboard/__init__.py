"""Datasets -> pages and summaries to look at. It only presents: nothing here changes a dataset."""

from twinloop.curate.rates import Fall, ParameterRates, Rate, success_by_parameter

from .attempts import Attempts, read_attempts
from .report import write_report
from .summary import Summary, summarize

__all__ = [
    "Attempts",
    "Fall",
    "ParameterRates",
    "Rate",
    "Summary",
    "read_attempts",
    "success_by_parameter",
    "summarize",
    "write_report",
]

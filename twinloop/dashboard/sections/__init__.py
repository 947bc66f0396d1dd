"""The sections of the report, one a file, in the order in which they are read."""

from collections.abc import Callable

from twinloop.dashboard.page import PageSection
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.sections import ending, episodes, provenance, spread, success, throughput, verdicts

SECTIONS: tuple[Callable[[ReportData], PageSection], ...] = (
    throughput.section,
    verdicts.section,
    spread.section,
    success.section,
    ending.section,
    episodes.section,
    provenance.section,
)

"""Diagnosis: a GapReport from runlogs says which gap costs how much success, and a Plan what to collect next."""

from typing import TYPE_CHECKING

from twinloop.lazy import lazy_exports

if TYPE_CHECKING:
    from twinloop.diagnose.bank import Bank as Bank
    from twinloop.diagnose.compare import DatasetComparison as DatasetComparison
    from twinloop.diagnose.hypothesis import Hypothesis as Hypothesis
    from twinloop.diagnose.plan import Plan as Plan
    from twinloop.diagnose.plan import PlanItem as PlanItem
    from twinloop.diagnose.report import GapFinding as GapFinding
    from twinloop.diagnose.report import GapReport as GapReport
    from twinloop.diagnose.report import RowEstimate as RowEstimate

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "GapReport": "report",
        "GapFinding": "report",
        "RowEstimate": "report",
        "Plan": "plan",
        "PlanItem": "plan",
        "Bank": "bank",
        "Hypothesis": "hypothesis",
        "DatasetComparison": "compare",
    },
)

"""Checkpoint -> Decision: evidence with intervals, of policies that were made to act."""

from .compare import Comparison, compare
from .evaluation import Evaluation, PhaseRate, Subject, load_evaluation, write_evaluation
from .outcomes import Outcomes

__all__ = [
    "Comparison",
    "Evaluation",
    "Outcomes",
    "PhaseRate",
    "Subject",
    "compare",
    "load_evaluation",
    "write_evaluation",
]

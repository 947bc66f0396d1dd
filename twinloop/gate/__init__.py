"""Checkpoint -> Decision: evaluations, trials on robots, rules, and the registry of decisions."""

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

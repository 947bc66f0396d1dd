"""Rules: what a policy must show before each step; a file for each step's rules, and one for their numbers."""

from .config import CanaryRules, MonitorRules, ProductionRules, RulesConfig, ValidatedRules, load_rules
from .finding import Finding

__all__ = [
    "CanaryRules",
    "Finding",
    "MonitorRules",
    "ProductionRules",
    "RulesConfig",
    "ValidatedRules",
    "load_rules",
]

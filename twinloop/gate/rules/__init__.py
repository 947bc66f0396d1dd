"""Rules: what a policy must show before each step; a file for each step's rules, and one for their numbers."""

from .config import CanaryRules, MonitorRules, ProductionRules, RulesConfig, ValidatedRules, load_rules
from .finding import RuleResult

__all__ = [
    "CanaryRules",
    "MonitorRules",
    "ProductionRules",
    "RuleResult",
    "RulesConfig",
    "ValidatedRules",
    "load_rules",
]

"""Rules: the conditions for each step to the next stage: one module per step, and one for the limits."""

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

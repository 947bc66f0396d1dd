"""Limits of the rules: the defaults from the package's `rules.yaml`, overridden by a user's file."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml, read_yaml
from twinloop.errors import UsageError

SHARES = (0.0, 1.0)
OPEN_SHARES = (0.001, 0.999)
COUNTS = (1, 1_000_000)


@dataclass(frozen=True)
class ValidatedRules:
    episodes: int
    confidence: float
    success: float
    harm: float
    regress: float
    training_data: bool


@dataclass(frozen=True)
class CanaryRules:
    human_ready: bool
    speed: float
    episodes: int
    untried_twin: bool
    predicted: float
    supervised: int
    gap: float
    pearson: float
    rank_violation: float
    pairs: int


@dataclass(frozen=True)
class ProductionRules:
    trials: int
    success: float
    aim: float
    regress: float
    gain: float
    error: float
    miss: float
    least_success: float
    longest_run: int
    interventions: float
    safety: float
    filter: float
    aborted: float
    unknown: float
    deadlines: float
    prediction_powered: bool


@dataclass(frozen=True)
class MonitorRules:
    false_alarm_episodes: int
    drop: float
    interventions: float
    safety: float
    drift: float
    drift_deviations: float
    roll_back: bool


RANGES: dict[str, tuple[float, float]] = {
    "validated.confidence": OPEN_SHARES,
    "canary.speed": OPEN_SHARES,
    "canary.pearson": (-1.0, 1.0),
    "production.success": OPEN_SHARES,
    "production.aim": OPEN_SHARES,
    "production.error": OPEN_SHARES,
    "production.miss": OPEN_SHARES,
    "monitor.false_alarm_episodes": (20, 10_000_000),
    "monitor.drop": OPEN_SHARES,
    "monitor.interventions": OPEN_SHARES,
    "monitor.safety": OPEN_SHARES,
    "monitor.drift": OPEN_SHARES,
    "monitor.drift_deviations": (0.1, 1000.0),
}
"""Valid ranges of the numbers that do not use the defaults SHARES (for fractions) or COUNTS (for integers)."""


@dataclass(frozen=True)
class RulesConfig:
    validated: ValidatedRules
    canary: CanaryRules
    production: ProductionRules
    monitor: MonitorRules

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def load_rules(path: Path | None = None) -> RulesConfig:
    """Load the default rules and apply the changes of the file at `path`. Unknown keys are an error."""
    text = files("twinloop.gate").joinpath("rules.yaml").read_text(encoding="utf-8")
    values, lines = parse_yaml(text, "rules.yaml (embedded)")
    rules = _rules(Section("rules.yaml (embedded)", "", values, lines), None)
    if path is None:
        return rules
    values, lines = read_yaml(path)
    return _rules(Section(str(path), "", values, lines), rules)


def _rules(file: Section, defaults: RulesConfig | None) -> RulesConfig:
    rules = RulesConfig(
        validated=_part(file, "validated", ValidatedRules, defaults),
        canary=_part(file, "canary", CanaryRules, defaults),
        production=_part(file, "production", ProductionRules, defaults),
        monitor=_part(file, "monitor", MonitorRules, defaults),
    )
    file.finish()
    asked = rules.production
    if asked.success >= asked.aim:
        raise file.error("production.aim", f"is {asked.aim:g}; it must be above success, {asked.success:g}")
    if -asked.regress >= asked.gain:
        raise file.error("production.gain", f"is {asked.gain:g}; it must be above minus regress, {-asked.regress:g}")
    return rules


T = TypeVar("T", ValidatedRules, CanaryRules, ProductionRules, MonitorRules)


def _part(file: Section, name: str, kind: type[T], defaults: RulesConfig | None) -> T:
    section = file.section(name)
    known = getattr(defaults, name) if defaults else None
    read: dict[str, float | int | bool] = {}
    for each in fields(kind):
        if known is None and each.name not in section:
            raise UsageError(f"{section.where(each.name)}: is missing")
        default = getattr(known, each.name) if known is not None else None
        if each.type is bool:
            read[each.name] = section.flag(each.name, bool(default))
        elif each.type is int:
            low, high = RANGES.get(f"{name}.{each.name}", COUNTS)
            read[each.name] = section.integer(each.name, int(default or 0), low=int(low), high=int(high))
        else:
            low, high = RANGES.get(f"{name}.{each.name}", SHARES)
            read[each.name] = section.number(each.name, float(default or 0), low=low, high=high)
    section.finish()
    return kind(**read)  # type: ignore[arg-type]

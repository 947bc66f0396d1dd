"""Judge how far to trust a twin, from policies with success rates in the twin and on a robot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from twinloop.config.record import write_record
from twinloop.curate.intervals import wilson
from twinloop.gate.statistics.agreement import LEAST_POLICIES, Agreement, Counted, agreement
from twinloop.gate.statistics.prediction import PredictionInterval, PredictionRecord, predict_real_rate, record

TrustLevel = Literal["trusted", "untested", "distrusted"]


@dataclass(frozen=True)
class PolicyPair:
    """Success rates of one policy at one task, in the twin and in reality."""

    policy: str
    sim: Counted
    real: Counted


@dataclass(frozen=True)
class TrustRules:
    """Limits of the judgement.

    Attributes:
        least_policies: number of policies that a task needs.
        least_predictions: number of tested predictions that a task needs.
        least_pearson, most_mmrv: limits of correlation and rank violation of a task. A trusted task meets both; a task
            is distrusted if the whole interval is beyond one of them.
        most_gap: largest difference of a policy's rates; a pair whose whole 95 % interval is beyond it is distrusted.
        confidence: confidence of prediction bands.
        error: chance of distrusting a twin whose bands hold as often as they claim.
    """

    least_policies: int = LEAST_POLICIES
    least_predictions: int = 3
    least_pearson: float = 0.5
    most_mmrv: float = 0.2
    most_gap: float = 1.0
    confidence: float = 0.9
    error: float = 0.05


@dataclass(frozen=True)
class CheckedPrediction:
    """A prediction band for a policy at a task, and the real rate that was measured later."""

    task: str
    policy: str
    band: PredictionInterval
    real: float

    @property
    def held(self) -> bool:
        return self.band.holds(self.real)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "policy": self.policy,
            "real": self.real,
            "held": self.held,
            **write_record(self.band),
        }


@dataclass(frozen=True)
class TaskTrust:
    """The judgement of one task."""

    task: str
    level: TrustLevel
    reasons: tuple[str, ...]
    pairs: tuple[PolicyPair, ...]
    agreement: Agreement
    predictions: tuple[CheckedPrediction, ...]
    record: PredictionRecord

    def predict(self, sim: float, *, confidence: float) -> PredictionInterval:
        """Predict the real success of another policy from its success in the twin."""
        return predict_real_rate(
            sim, [pair.sim for pair in self.pairs], [pair.real for pair in self.pairs], confidence=confidence
        )

    def to_json(self) -> dict[str, Any]:
        agreement = self.agreement
        return {
            "level": self.level,
            "reasons": list(self.reasons),
            "policies": agreement.policies,
            "pearson": agreement.pearson,
            "pearson_interval": [agreement.pearson_low, agreement.pearson_high],
            "mmrv": agreement.mmrv,
            "mmrv_interval": [agreement.mmrv_low, agreement.mmrv_high],
            "gap": agreement.gap,
            "predictions": write_record(self.record),
            "tested_predictions": [prediction.to_json() for prediction in self.predictions],
            "pairs": {
                pair.policy: {"sim": write_record(pair.sim), "real": write_record(pair.real)} for pair in self.pairs
            },
        }


@dataclass(frozen=True)
class Trust:
    """The judgement of the twin as a whole."""

    level: TrustLevel
    reasons: tuple[str, ...]
    tasks: tuple[TaskTrust, ...]
    record: PredictionRecord
    rules: TrustRules = field(default_factory=TrustRules)

    def task(self, name: str) -> TaskTrust | None:
        return next((task for task in self.tasks if task.task == name), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "reasons": list(self.reasons),
            "predictions": write_record(self.record),
            "rules": write_record(self.rules),
            "tasks": {task.task: task.to_json() for task in self.tasks},
        }


def trust(
    pairs: Mapping[str, Sequence[PolicyPair]],
    *,
    seed: int,
    rules: TrustRules | None = None,
    predictions: Sequence[CheckedPrediction] = (),
) -> Trust:
    """Judge a twin.

    Args:
        pairs: task -> policies in the order in which they were tried.
        seed: seed of the resampling.
        predictions: bands that were recorded before their real trials. In a task without any, each policy is
            predicted from those before it.
    """
    rules = rules or TrustRules()
    tasks = tuple(
        _judge_task(
            name, tuple(policies), [prediction for prediction in predictions if prediction.task == name], rules, seed
        )
        for name, policies in pairs.items()
    )
    held = [prediction.held for task in tasks for prediction in task.predictions]
    total = record(held, confidence=rules.confidence)
    reasons = []
    if total.failed(rules.error):
        reasons.append(_failed_predictions(total))
    reasons += [f"{task.task}: {reason}" for task in tasks if task.level == "distrusted" for reason in task.reasons]
    if reasons:
        return Trust("distrusted", tuple(reasons), tasks, total, rules)
    trusted = [task.task for task in tasks if task.level == "trusted"]
    if trusted:
        reasons = [
            f"success in the twin agrees with reality for {', '.join(trusted)}",
            f"{total.made - total.missed} of {total.made} real rates fell inside the predicted "
            f"{rules.confidence:.0%} bands",
        ]
        if rest := [task.task for task in tasks if task.level != "trusted"]:
            reasons.append(f"untested for {', '.join(rest)}")
        return Trust("trusted", tuple(reasons), tasks, total, rules)
    reasons = [f"{task.task}: {reason}" for task in tasks for reason in task.reasons]
    return Trust(
        "untested", tuple(reasons) or ("no policy has trials both in the twin and in reality",), tasks, total, rules
    )


def _judge_task(
    name: str, pairs: tuple[PolicyPair, ...], recorded: list[CheckedPrediction], rules: TrustRules, seed: int
) -> TaskTrust:
    agreed = agreement([pair.sim for pair in pairs], [pair.real for pair in pairs], seed=seed)
    predictions = recorded or _predictions_in_order(name, pairs, rules.confidence)
    held = record([prediction.held for prediction in predictions], confidence=rules.confidence)
    reasons = _reasons_to_distrust(pairs, agreed, held, rules)
    level: TrustLevel = "distrusted"
    if not reasons:
        level, reasons = _trusted_or_untested(agreed, held, rules)
    return TaskTrust(name, level, reasons, pairs, agreed, tuple(predictions), held)


def _predictions_in_order(task: str, pairs: tuple[PolicyPair, ...], confidence: float) -> list[CheckedPrediction]:
    """Predict each policy from those before it."""
    predictions = []
    for place, pair in enumerate(pairs):
        before = pairs[:place]
        band = predict_real_rate(
            pair.sim.rate, [other.sim for other in before], [other.real for other in before], confidence=confidence
        )
        if band.estimate is not None:
            predictions.append(CheckedPrediction(task, pair.policy, band, pair.real.rate))
    return predictions


def _reasons_to_distrust(
    pairs: tuple[PolicyPair, ...], agreed: Agreement, held: PredictionRecord, rules: TrustRules
) -> tuple[str, ...]:
    reasons = [reason for pair in pairs if (reason := _too_far_apart(pair, rules.most_gap))]
    if held.failed(rules.error):
        reasons.append(_failed_predictions(held))
    if agreed.pearson is not None and agreed.pearson_high < rules.least_pearson:
        reasons.append(
            f"correlation {agreed.pearson:.2f}, at most {agreed.pearson_high:.2f}; "
            f"{rules.least_pearson:g} is the minimum"
        )
    if agreed.mmrv is not None and agreed.mmrv_low > rules.most_mmrv:
        reasons.append(
            f"rank violation {agreed.mmrv:.3f}, at least {agreed.mmrv_low:.3f}; {rules.most_mmrv:g} is the maximum"
        )
    return tuple(reasons)


def _too_far_apart(pair: PolicyPair, gap: float) -> str:
    """Return the reason if the whole 95 % interval of the difference is beyond `gap`, else an empty string."""
    if pair.sim.trials is None or pair.real.trials is None:
        return ""
    difference, low, high = _newcombe(pair.sim, pair.real)
    if low <= gap and high >= -gap:
        return ""
    more = "more" if difference > 0 else "less"
    return (
        f"{pair.policy[:12]} succeeds in {pair.sim.rate:.2f} in the twin and in {pair.real.rate:.2f} of "
        f"{pair.real.trials} trials on the robot: {abs(difference):.2f} {more} in the twin, at least "
        f"{min(abs(low), abs(high)):.2f}; {gap:g} is the maximum"
    )


def _newcombe(sim: Counted, real: Counted) -> tuple[float, float, float]:
    """Return (difference, low, high) with Newcombe's 95 % interval for independent samples."""
    trials = [sim.trials or 0, real.trials or 0]
    low, high = wilson([round(sim.rate * trials[0]), round(real.rate * trials[1])], trials)
    difference = sim.rate - real.rate
    down = float(np.hypot(sim.rate - low[0], high[1] - real.rate))
    up = float(np.hypot(high[0] - sim.rate, real.rate - low[1]))
    return difference, difference - down, difference + up


def _trusted_or_untested(
    agreed: Agreement, held: PredictionRecord, rules: TrustRules
) -> tuple[TrustLevel, tuple[str, ...]]:
    if agreed.policies < rules.least_policies:
        compared = f"{agreed.policies} {'policy' if agreed.policies == 1 else 'policies'} compared"
        return "untested", (f"{compared}; too few to judge ({rules.least_policies} are needed)",)
    missing = []
    if agreed.pearson is None:
        missing.append("cannot judge: all policies have the same rate in the twin or in reality")
    elif agreed.pearson_low <= 0 or agreed.pearson < rules.least_pearson:
        missing.append(f"correlation {agreed.pearson:.2f}, at least {agreed.pearson_low:.2f}: not shown to be positive")
    if agreed.mmrv is not None and agreed.mmrv > rules.most_mmrv:
        missing.append(f"rank violation {agreed.mmrv:.3f}; {rules.most_mmrv:g} is the maximum")
    if held.made < rules.least_predictions:
        missing.append(f"{held.made} predictions tested; {rules.least_predictions} are needed")
    if missing:
        return "untested", tuple(missing)
    kept = f"{held.made - held.missed} of {held.made} predictions held"
    return "trusted", (f"correlation {agreed.pearson:.2f}, rank violation {agreed.mmrv:.3f}, {kept}",)


def _failed_predictions(held: PredictionRecord) -> str:
    return (
        f"predictions failed: {held.missed} of {held.made} real rates fell outside the predicted "
        f"{held.confidence:.0%} bands"
    )

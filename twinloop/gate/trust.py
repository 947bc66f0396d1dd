"""How far to trust the twin: from policies tried on both sides, in the order they were tried."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from twinloop.gate.statistics.agreement import LEAST_POLICIES, Agreement, Counted, agreement
from twinloop.gate.statistics.foresight import PredictionInterval, PredictionRecord, foretell, record

TrustStanding = Literal["trusted", "untested", "distrusted"]


@dataclass(frozen=True)
class PolicyPair:
    """One policy at one task on both sides."""

    policy: str
    sim: Counted
    real: Counted


@dataclass(frozen=True)
class TrustRules:
    """When the twin's word counts.

    least_policies: tried on both sides, of a task. least_predictions: that were put to the test.
    least_pearson, most_mmrv: of a task. Trusted needs both met and a correlation that is shown; distrusted is a task
        whose whole interval is beyond one of them.
    confidence: of predicted bands. error: the chance of distrusting a twin whose bands hold as often as they say.
    """

    least_policies: int = LEAST_POLICIES
    least_predictions: int = 3
    least_pearson: float = 0.5
    most_mmrv: float = 0.2
    confidence: float = 0.9
    error: float = 0.05

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Foretold:
    """A band that was made for a policy at a task, and the real rate that then came."""

    task: str
    policy: str
    band: PredictionInterval
    real: float

    @property
    def held(self) -> bool:
        return self.band.holds(self.real)

    def to_json(self) -> dict[str, Any]:
        return {"task": self.task, "policy": self.policy, "real": self.real, "held": self.held, **self.band.to_json()}


@dataclass(frozen=True)
class TaskTrust:
    task: str
    standing: TrustStanding
    reasons: tuple[str, ...]
    pairs: tuple[PolicyPair, ...]
    agreement: Agreement
    foretold: tuple[Foretold, ...]
    record: PredictionRecord

    def predict(self, sim: float, *, confidence: float) -> PredictionInterval:
        """The real success of another policy, from its success in the twin."""
        pairs = self.pairs
        return foretell(sim, [each.sim for each in pairs], [each.real for each in pairs], confidence=confidence)

    def to_json(self) -> dict[str, Any]:
        found = self.agreement
        return {
            "standing": self.standing,
            "reasons": list(self.reasons),
            "policies": found.policies,
            "pearson": found.pearson,
            "pearson_interval": [found.pearson_low, found.pearson_high],
            "mmrv": found.mmrv,
            "mmrv_interval": [found.mmrv_low, found.mmrv_high],
            "gap": found.gap,
            "predictions": self.record.to_json(),
            "foretold": [each.to_json() for each in self.foretold],
            "pairs": {each.policy: {"sim": each.sim.to_json(), "real": each.real.to_json()} for each in self.pairs},
        }


@dataclass(frozen=True)
class Trust:
    """Of the twin as a whole: what its word is worth to whoever promotes a policy."""

    standing: TrustStanding
    reasons: tuple[str, ...]
    tasks: tuple[TaskTrust, ...]
    record: PredictionRecord
    rules: TrustRules = field(default_factory=TrustRules)

    def task(self, name: str) -> TaskTrust | None:
        return next((each for each in self.tasks if each.task == name), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "standing": self.standing,
            "reasons": list(self.reasons),
            "predictions": self.record.to_json(),
            "rules": self.rules.to_json(),
            "tasks": {each.task: each.to_json() for each in self.tasks},
        }


def trust(
    pairs: Mapping[str, Sequence[PolicyPair]],
    *,
    seed: int,
    rules: TrustRules | None = None,
    foretold: Sequence[Foretold] = (),
) -> Trust:
    """pairs: task -> policies in the order they were tried. foretold: predictions that were recorded before their real
    trials; where a task has none, each of its policies is predicted from those before it, which is as fair."""
    rules = rules or TrustRules()
    tasks = tuple(
        _task(name, tuple(each), [told for told in foretold if told.task == name], rules, seed)
        for name, each in pairs.items()
    )
    told = [each for task in tasks for each in task.foretold]
    whole = record([each.held for each in told], confidence=rules.confidence)
    reasons = []
    if whole.failed(rules.error):
        reasons.append(_broken(whole, "its predictions"))
    reasons += [f"{task.task}: {reason}" for task in tasks if task.standing == "distrusted" for reason in task.reasons]
    if reasons:
        return Trust("distrusted", tuple(reasons), tasks, whole, rules)
    good = [task.task for task in tasks if task.standing == "trusted"]
    if good:
        kept = f"{whole.made - whole.missed} of {whole.made} predictions held, at bands of {rules.confidence:.0%}"
        said = [f"agrees with reality at {', '.join(good)}", kept]
        if rest := [task.task for task in tasks if task.standing != "trusted"]:
            said.append(f"its word is untested at {', '.join(rest)}")
        return Trust("trusted", tuple(said), tasks, whole, rules)
    open_ = tuple(f"{task.task}: {reason}" for task in tasks for reason in task.reasons)
    return Trust("untested", open_ or ("nothing was tried on both sides",), tasks, whole, rules)


def _task(name: str, pairs: tuple[PolicyPair, ...], told: list[Foretold], rules: TrustRules, seed: int) -> TaskTrust:
    found = agreement([each.sim for each in pairs], [each.real for each in pairs], seed=seed)
    told = told or _in_hindsight(name, pairs, rules.confidence)
    kept = record([each.held for each in told], confidence=rules.confidence)
    standing, reasons = _judged(found, kept, rules)
    return TaskTrust(name, standing, reasons, pairs, found, tuple(told), kept)


def _in_hindsight(task: str, pairs: tuple[PolicyPair, ...], confidence: float) -> list[Foretold]:
    told = []
    for place, pair in enumerate(pairs):
        before = pairs[:place]
        band = foretell(
            pair.sim.rate, [each.sim for each in before], [each.real for each in before], confidence=confidence
        )
        if band.estimate is not None:
            told.append(Foretold(task, pair.policy, band, pair.real.rate))
    return told


def _judged(found: Agreement, kept: PredictionRecord, rules: TrustRules) -> tuple[TrustStanding, tuple[str, ...]]:
    bad = []
    if kept.failed(rules.error):
        bad.append(_broken(kept, "predictions"))
    if found.pearson is not None and found.pearson_high < rules.least_pearson:
        bad.append(
            f"correlation {found.pearson:.2f}, at most {found.pearson_high:.2f}; {rules.least_pearson:g} is asked"
        )
    if found.mmrv is not None and found.mmrv_low > rules.most_mmrv:
        bad.append(f"rank violation {found.mmrv:.3f}, at least {found.mmrv_low:.3f}; {rules.most_mmrv:g} is allowed")
    if bad:
        return "distrusted", tuple(bad)
    return _open(found, kept, rules)


def _open(found: Agreement, kept: PredictionRecord, rules: TrustRules) -> tuple[TrustStanding, tuple[str, ...]]:
    if found.policies < rules.least_policies:
        many = f"{found.policies} {'policy was' if found.policies == 1 else 'policies were'} tried on both sides"
        return "untested", (f"cannot tell: {many}, {rules.least_policies} are asked",)
    missing = []
    if found.pearson is None:
        missing.append("cannot tell: all policies have the same rate on one side")
    elif found.pearson_low <= 0 or found.pearson < rules.least_pearson:
        missing.append(f"a correlation is not shown: {found.pearson:.2f}, at least {found.pearson_low:.2f}")
    if found.mmrv is not None and found.mmrv > rules.most_mmrv:
        missing.append(f"rank violation {found.mmrv:.3f}, {rules.most_mmrv:g} is allowed")
    if kept.made < rules.least_predictions:
        missing.append(f"{kept.made} predictions were put to the test, {rules.least_predictions} are asked")
    if missing:
        return "untested", tuple(missing)
    held = f"{kept.made - kept.missed} of {kept.made} predictions held"
    return "trusted", (f"correlation {found.pearson:.2f}, rank violation {found.mmrv:.3f}, {held}",)


def _broken(kept: PredictionRecord, what: str) -> str:
    return f"{what} failed: {kept.missed} of {kept.made} fell outside bands of {kept.confidence:.0%}"

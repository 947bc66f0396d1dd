"""Decision: the judgement on one step of one policy, with measured value, limit and result of every rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twinloop.config.compound import Listed
from twinloop.config.json_file import value_from_json
from twinloop.config.record import Nested, write_record
from twinloop.curate.rates import Rate
from twinloop.errors import RegistryError, UsageError
from twinloop.gate.case import Case, evidence_of
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import Writer
from twinloop.gate.registry_state import PROMOTED, REFUSED, Stage, next_stage
from twinloop.gate.rules import canary, robot, twin
from twinloop.gate.rules.finding import Rule, RuleResult
from twinloop.gate.sequence import arms_of, path_of_trials, plan_of
from twinloop.gate.stage_limits import PERMIT, limits_for
from twinloop.gate.trust import enter_twins

RULES: Mapping[Stage, Callable[[Case], tuple[Rule, ...]]] = {
    "validated": twin.rules,
    "canary": canary.rules,
    "production": robot.rules,
}
FINDINGS = Listed(item=Nested(record=RuleResult), what="finding")
MOST_STEPS, MOST_VALUES, MOST_PARAMETERS = 2000, 12, 4


@dataclass(frozen=True)
class Decision:
    """The judgement on one step of one policy.

    Attributes:
        checkpoint: digest of the checkpoint.
        name: readable name of the checkpoint.
        transition: the step, for example `canary -> production`.
        findings: results of the rules.
        rules: digest of the rules.
        figures: data for the plots.
    """

    checkpoint: str
    name: str
    transition: str
    findings: tuple[RuleResult, ...]
    evidence: tuple[Mapping[str, Any], ...]
    rules: str
    figures: Mapping[str, Any]

    @property
    def to(self) -> str:
        return self.transition.rpartition(" -> ")[2]

    @property
    def promoted(self) -> bool:
        """True if there is at least one rule and all rules hold."""
        return bool(self.findings) and all(finding.passed for finding in self.findings)

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        return tuple(finding for finding in self.findings if not finding.passed)

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(f"{finding.rule}: {finding.sentence}" for finding in (self.failed or self.findings))

    @property
    def sentence(self) -> str:
        """The verdict as one sentence."""
        policy = f"{self.name} ({self.checkpoint[:12]})"
        if self.promoted:
            return f"{policy} is promoted to {self.to}: all {len(self.findings)} rules hold."
        names = ", ".join(finding.rule for finding in self.failed)
        count = f"{len(self.failed)} of {len(self.findings)} rules {'does' if len(self.failed) == 1 else 'do'} not hold"
        return f"{policy} is not promoted to {self.to}: {count} ({names})."

    @classmethod
    def of_record(cls, record: LedgerRecord) -> "Decision":
        """Restore a decision from its ledger record."""
        details = record.details
        where = f"decision {record.transition} on {record.checkpoint[:12]}: findings"
        findings = value_from_json(FINDINGS, details["findings"], where=where, error=RegistryError)
        return cls(
            record.checkpoint, str(details["name"]), record.transition, findings, record.evidence, record.rules,
            details["figures"],
        )  # fmt: skip


def decide(case: Case, stage: Stage, *, name: str) -> Decision:
    """Judge the step from `stage` to the next one by its rules. This changes nothing in the registry."""
    reached = next_stage(stage)
    if reached is None:
        raise UsageError(f"{name}: is already in production, the last stage")
    findings = tuple(rule.judge() for rule in RULES[reached](case))
    return Decision(
        checkpoint=case.digest,
        name=name,
        transition=f"{stage} -> {reached}",
        findings=findings,
        evidence=(*evidence_of(case), *(data.to_json() for data in (case.data if reached == "validated" else ()))),
        rules=case.rules.digest,
        figures=_figures(case, reached),
    )


def enter(writer: Writer, case: Case, decision: Decision) -> LedgerRecord:
    """Write a decision to the ledger and carry it out. Evaluations are copied into the registry first."""
    for evaluation in (*case.evaluations, *case.rivals):
        writer.pin_evaluation(evaluation.path)
    enter_twins(writer, case.trust)
    limits = limits_for(case, decision.to) if decision.promoted else None
    return writer.decide(
        PROMOTED if decision.promoted else REFUSED,
        checkpoint=decision.checkpoint,
        transition=decision.transition,
        rules=decision.rules,
        evidence=decision.evidence,
        reasons=decision.reasons,
        details={
            "name": decision.name,
            "sentence": decision.sentence,
            "findings": [write_record(finding) for finding in decision.findings],
            "figures": decision.figures,
            **({PERMIT: limits.to_json()} if limits is not None else {}),
        },
    )


def _figures(case: Case, reached: Stage) -> dict[str, Any]:
    """Return the data for the plots of the decision page, small enough for the ledger."""
    figures: dict[str, Any] = {"rates": _rates(case), "pairs": _pairs(case)}
    if reached == "validated" and case.evaluations:
        figures["parameters"] = case.evaluations[0].evaluation.results()["parameters"][:MOST_PARAMETERS]
    if case.runlogs:
        figures["conditions"] = _conditions(case)
    if reached == "production" and case.runlogs:
        plan = plan_of(case.rules.production, against=bool(case.incumbent))
        steps = path_of_trials(case)[:MOST_STEPS]
        figures["test"] = {
            "paired": bool(case.incumbent), "null": plan.null, "target": plan.target, "error": plan.error,
            "miss": plan.miss, "for": [round(step.log_evidence_for, 4) for step in steps],
            "against": [round(step.log_evidence_against, 4) for step in steps],
        }  # fmt: skip
    return figures


def _rates(case: Case) -> list[dict[str, Any]]:
    rows = [_rate(f"in {evidence.config}", evidence.success) for evidence in case.twins]
    rows += [_rate(f"live policy in {rival.evaluation.subject.config_name}", rival.evaluation.success)
             for rival in case.rivals]  # fmt: skip
    if case.runlogs:
        candidate, control = arms_of(case)
        rows += [_rate("on the robot", candidate.success)] if len(candidate) else []
        rows += [_rate("live policy on the robot", control.success)] if len(control) else []
    return rows


def _rate(name: str, rate: Rate) -> dict[str, Any]:
    return {"name": name, "successes": rate.successes, "trials": rate.trials}


def _pairs(case: Case) -> list[dict[str, Any]]:
    return [pair.to_json() for trust in case.trust.values() for pair in trust.pairs]


def _conditions(case: Case) -> list[dict[str, Any]]:
    """Return the candidate's successes and trials for each value of each condition."""
    candidate, _ = arms_of(case)
    rows = []
    for name, values in sorted(candidate.conditions.items()):
        kinds = sorted(set(values.tolist()))
        if 1 < len(kinds) <= MOST_VALUES or (len(kinds) == 1 and kinds[0]):
            managed = candidate.managed
            rows += [
                {"condition": name, **_rate(str(kind), Rate(int(managed[values == kind].sum()),
                                                          int((values == kind).sum())))}
                for kind in kinds
            ]  # fmt: skip
    return rows

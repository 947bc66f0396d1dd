"""Rules of validated -> canary: conditions for slow, short and supervised trials on a robot."""

from functools import partial

from twinloop.gate.case import Case
from twinloop.gate.registry_state import Stage
from twinloop.gate.rules.finding import Measured, Rule
from twinloop.gate.rules.twin import believed
from twinloop.gate.statistics.binomial import rate_bound


def rules(case: Case) -> tuple[Rule, ...]:
    limits = case.rules.canary
    rules = [
        Rule("evidence", "the evidence for stage validated is unchanged", "is", True, partial(_still, case)),
        Rule("trust in the twin", "a twin is trusted, or supervised real episodes replace it", "is", True,
             partial(_trusted, case)),
        Rule("predicted success", "real success predicted from the twin, lower end", "at least", limits.predicted,
             partial(_predicted, case)),
        Rule("speed", "share of the robot's speed in the trials", "at most", limits.speed, partial(_speed, case)),
        Rule("count", "episodes of the candidate in the trials", "at most", limits.episodes, partial(_count, case)),
    ]  # fmt: skip
    if limits.human_ready:
        ready = "a person who can stop the robot is ready (--human-ready)"
        rules.append(Rule("human ready", ready, "is", True, partial(_ready, case)))
    if limits.approvals and case.on_hardware:
        rules.append(approval_rule(case, "canary", limits.approvals))
    return tuple(rules)


def approval_rule(case: Case, stage: Stage, needed: int) -> Rule:
    asks = f"people who approved the step to {stage} with `twinloop approve`"
    return Rule("approvals", asks, "at least", needed, partial(_approvals, case, stage))


def _approvals(case: Case, stage: Stage) -> Measured:
    given = case.registry.state.approvals.get((case.digest, stage), ())
    people = ", ".join(approval.person for approval in given)
    how = f"`twinloop approve {case.digest[:12]} --to {stage}` adds one"
    return Measured(float(len(given)), f"{people or 'nobody yet'}; {how}", tuple(approval.record for approval in given))


def _still(case: Case) -> Measured:
    if not case.evaluations:
        return Measured(None, "no evaluation of this policy")
    return believed(case)


def _trusted(case: Case) -> Measured:
    """A demoted twin alone is not enough. Another twin is, or supervised real episodes."""
    demoted, need = [], case.rules.canary.supervised
    for evaluated in case.twins:
        trust = case.trust.get(evaluated.twin)
        if trust is not None and trust.failures:
            demoted.append((evaluated, trust))
        elif trust is not None and trust.pairs:
            return Measured(True, f"{trust.config}: {trust.sentence}", evaluated.evidence)
        elif case.rules.canary.untried_twin:
            sentence = f"{evaluated.config}: no policy compared with a robot yet; these trials will be the first"
            return Measured(True, sentence, evaluated.evidence)
    if not demoted:
        return Measured(False, "none of its twins was compared with a robot yet (canary.untried_twin is false)")
    done = len(case.all_episodes.of(case.digest)) if case.runlogs else 0
    if done >= need:
        sentence = f"the twin is demoted; {done} supervised real episodes replace it"
        return Measured(True, sentence, tuple(log.digest for log in case.runlogs))
    twin, trust = demoted[0]
    sentence = (
        f"the twin {twin.config} ({twin.twin[:8]}) is demoted: {trust.failures[0]}. Give an evaluation in another "
        f"twin (for example a calibrated one), or a runlog with {need} supervised episodes of this policy (now: {done})"
    )
    return Measured(False, sentence, twin.evidence)


def _predicted(case: Case) -> Measured:
    """The lowest prediction of the twins that are not demoted; before a first comparison, the twin's own bound."""
    predictions = []
    for twin in case.twins:
        trust = case.trust.get(twin.twin)
        if trust is not None and trust.failures:
            continue
        if trust is not None and trust.pairs:
            low, sentence = trust.predict(twin.success, besides=case.digest)
            predictions.append((low, sentence, twin.evidence))
        else:
            confidence = case.rules.validated.confidence
            bound = rate_bound(twin.success.successes, twin.success.trials, confidence=confidence)
            sentence = f"{bound.low:.2f}, the lower bound in {twin.config}: no policy compared with a robot yet"
            predictions.append((bound.low, sentence, twin.evidence))
    if not predictions:
        real = case.all_episodes.of(case.digest) if case.runlogs else None
        if real is None or not len(real):
            return Measured(None, "every twin in which it was evaluated is demoted")
        rate = real.success
        return Measured(rate.value, f"measured instead: {rate.successes} of {rate.trials} supervised episodes")
    low, sentence, evidence = min(predictions, key=lambda prediction: prediction[0])
    return Measured(float(low), sentence, evidence)


def _speed(case: Case) -> Measured:
    if case.canary is None:
        return Measured(None, "robot, speed and episodes of the trials are not given")
    return Measured(
        float(case.canary.speed), f"{case.canary.speed:g} of the speed of {case.canary.robot or 'the robot'}"
    )


def _count(case: Case) -> Measured:
    if case.canary is None:
        return Measured(None, "robot, speed and episodes of the trials are not given")
    return Measured(float(case.canary.episodes), f"{case.canary.episodes} at most; the test may stop earlier")


def _ready(case: Case) -> Measured:
    return Measured(case.human_ready is True, "confirmed" if case.human_ready else "not confirmed; give --human-ready")

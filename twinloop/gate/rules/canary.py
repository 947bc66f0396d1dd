"""validated -> canary: may it move a robot, slowly and not for long, with somebody beside it?"""

from functools import partial

from twinloop.gate.case import Case
from twinloop.gate.rules.finding import Measured, Rule
from twinloop.gate.rules.twin import believed
from twinloop.gate.statistics.binomial import rate_bound


def rules(case: Case) -> tuple[Rule, ...]:
    asked = case.rules.canary
    rules = [
        Rule("evidence", "what it was validated on is still what it was", "is", True, partial(_still, case)),
        Rule("trust in the twin", "the twin's word counts, or something else stands in for it", "is", True,
             partial(_trusted, case)),
        Rule("predicted success", "real success that the twin predicts, lower end", "at least", asked.predicted,
             partial(_predicted, case)),
        Rule("speed", "share of the robot's speed in the trials", "at most", asked.speed, partial(_speed, case)),
        Rule("count", "episodes of the candidate in the trials", "at most", asked.episodes, partial(_count, case)),
    ]  # fmt: skip
    if asked.human_ready:
        ready = "somebody who can stop the robot stands ready (--human-ready)"
        rules.append(Rule("human ready", ready, "is", True, partial(_ready, case)))
    return tuple(rules)


def _still(case: Case) -> Measured:
    if not case.evaluations:
        return Measured(None, "there is no evaluation of it")
    return believed(case)


def _trusted(case: Case) -> Measured:
    """A demoted twin's word alone is not enough; a second twin's is, or real episodes under supervision."""
    demoted, need = [], case.rules.canary.supervised
    for each in case.twins:
        trust = case.trust.get(each.twin)
        if trust is not None and trust.failures:
            demoted.append((each, trust))
        elif trust is not None and trust.pairs:
            return Measured(True, f"{trust.config}: {trust.sentence}", each.evidence)
        elif case.rules.canary.untried_twin:
            said = f"{each.config}: nothing to compare with yet; the trials on the robot will tell"
            return Measured(True, said, each.evidence)
    if not demoted:
        return Measured(False, "no twin it was evaluated in was ever compared with the real side (canary.untried_twin)")
    done = len(case.episodes.of(case.digest)) if case.runlogs else 0
    if done >= need:
        said = f"the twin is demoted, but {done} real episodes under supervision were shown"
        return Measured(True, said, tuple(log.digest for log in case.runlogs))
    twin, trust = demoted[0]
    said = (
        f"the twin {twin.config} ({twin.twin[:8]}) is demoted: {trust.failures[0]}. Show an evaluation in another "
        f"twin, a calibrated one, say, or a runlog with {need} supervised episodes of this policy (there are {done})"
    )
    return Measured(False, said, twin.evidence)


def _predicted(case: Case) -> Measured:
    """The worst over the twins that count; before anything was tried on both sides, what the twin itself measured."""
    found = []
    for each in case.twins:
        trust = case.trust.get(each.twin)
        if trust is not None and trust.failures:
            continue
        if trust is not None and trust.pairs:
            low, said = trust.predict(each.success, besides=case.digest)
            found.append((low, said, each.evidence))
        else:
            confidence = case.rules.validated.confidence
            bound = rate_bound(each.success.successes, each.success.trials, confidence=confidence)
            said = f"{bound.low:.2f} if it is as in {each.config}: nothing was tried on both sides yet"
            found.append((bound.low, said, each.evidence))
    if not found:
        real = case.episodes.of(case.digest) if case.runlogs else None
        if real is None or not len(real):
            return Measured(None, "no twin that counts predicts anything")
        rate = real.success
        return Measured(rate.value, f"measured instead: {rate.successes} of {rate.trials} supervised episodes")
    low, said, evidence = min(found, key=lambda each: each[0])
    return Measured(float(low), said, evidence)


def _speed(case: Case) -> Measured:
    if case.canary is None:
        return Measured(None, "the trials were not described")
    return Measured(float(case.canary.speed), f"{case.canary.speed:g} of what {case.canary.robot or 'the robot'} can")


def _count(case: Case) -> Measured:
    if case.canary is None:
        return Measured(None, "the trials were not described")
    return Measured(float(case.canary.episodes), f"{case.canary.episodes} at most, fewer if the test knows sooner")


def _ready(case: Case) -> Measured:
    return Measured(case.human_ready is True, "affirmed" if case.human_ready else "not affirmed: --human-ready")

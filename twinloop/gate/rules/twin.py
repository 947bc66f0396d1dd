"""Rules of candidate -> validated: evidence from the twin."""

import math
from functools import partial

from twinloop.errors import RegistryError
from twinloop.gate.case import Case
from twinloop.gate.compare import compare
from twinloop.gate.evidence import TwinRate
from twinloop.gate.rules.finding import Measured, Rule
from twinloop.gate.statistics.binomial import rate_bound
from twinloop.learn.card import REINFORCEMENT


def rules(case: Case) -> tuple[Rule, ...]:
    limits = case.rules.validated
    confidence = f"confidence {limits.confidence:g}"
    return (
        Rule("finished", "training ran to the end", "is", True, partial(_finished, case)),
        Rule("metrics", "losses on the card are finite numbers", "is", True, partial(_metrics, case)),
        *([Rule("training data", "every training dataset verifies and has the digest on the card", "is", True,
                partial(_training_data, case))] if limits.training_data else []),
        Rule("evidence", "all evidence files are unchanged", "is", True, partial(believed, case)),
        Rule("episodes", "number of attempts in each twin", "at least", limits.episodes, partial(_episodes, case)),
        Rule("unseen draws", "no evaluation uses draws from the training data", "is", True, partial(_unseen, case)),
        Rule("success", f"lower bound of success, {confidence}", "at least", limits.success, partial(_success, case)),
        Rule("harm", f"upper bound of implausible or unsafe attempts, {confidence}", "at most", limits.harm,
             partial(_harm, case)),
        Rule("no regress", "difference to the live policy's success on the same draws, lower end (95 %)",
             "at least", -limits.regress, partial(_regress, case)),
    )  # fmt: skip


def believed(case: Case) -> Measured:
    if case.problems:
        return Measured(False, "; ".join(case.problems))
    count = len(case.evaluations) + len(case.rivals) + len(case.runlogs)
    return Measured(True, f"{count} evidence {'file' if count == 1 else 'files'} unchanged")


def _finished(case: Case) -> Measured:
    card = case.checkpoint.card
    return Measured(card.finished is True, f"{card.steps:,} steps", (case.digest,))


def _metrics(case: Case) -> Measured:
    metrics = case.checkpoint.card.metrics
    reinforced = any(source.get("kind") == REINFORCEMENT for source in case.checkpoint.card.data)
    for name in ("loss", "reward") if reinforced else ("loss", "held_out_loss"):
        value = metrics.get(name)
        if value is None:
            return Measured(None, f"{name} is missing on the card", (case.digest,))
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return Measured(False, f"{name} is {value!r}", (case.digest,))
    if reinforced:
        return Measured(True, f"loss {metrics['loss']:.4g}, mean reward {metrics['reward']:.4g}", (case.digest,))
    sentence = f"loss {metrics['loss']:.4g}, on held-out episodes {metrics['held_out_loss']:.4g}"
    return Measured(True, sentence, (case.digest,))


def _training_data(case: Case) -> Measured:
    if not case.data:
        return Measured(None, "the card names no dataset", (case.digest,))
    problems = [data.problem for data in case.data if data.problem]
    digests = tuple(data.digest for data in case.data)
    if problems:
        return Measured(False, "; ".join(problems), digests)
    return Measured(True, f"{', '.join(data.name for data in case.data)}: all files unchanged", digests)


def _episodes(case: Case) -> Measured:
    fewest = min(_twins(case), key=lambda rate: rate.success.trials)
    return Measured(float(fewest.success.trials), f"{fewest.success.trials:,} in {_name(fewest)}", fewest.evidence)


def _unseen(case: Case) -> Measured:
    _twins(case)
    seeds = {int(source["run_seed"]) for source in case.checkpoint.card.data if source["kind"] != "real"}
    seen = [evaluation for evaluation in case.evaluations if evaluation.evaluation.subject.seed in seeds]
    used = tuple(evaluation.digest for evaluation in case.evaluations)
    if seen:
        return Measured(False, f"seed {seen[0].evaluation.subject.seed} is in the training data", used)
    evaluated = sorted({evaluation.evaluation.subject.seed for evaluation in case.evaluations})
    return Measured(True, f"evaluated on seed {', '.join(map(str, evaluated))}; training data has "
                          f"{', '.join(map(str, sorted(seeds))) or 'none'}", used)  # fmt: skip


def _success(case: Case) -> Measured:
    confidence = case.rules.validated.confidence
    bounds = [
        (rate_bound(twin.success.successes, twin.success.trials, confidence=confidence).low, twin)
        for twin in _twins(case)
    ]
    low, worst = min(bounds, key=lambda pair: pair[0])
    sentence = f"{worst.success.successes:,} of {worst.success.trials:,} in {_name(worst)}: at least {low:.3f}"
    return Measured(float(low), sentence, worst.evidence)


def _harm(case: Case) -> Measured:
    confidence = case.rules.validated.confidence
    bounds = [
        (rate_bound(twin.harm.successes, twin.harm.trials, confidence=confidence).high, twin) for twin in _twins(case)
    ]
    high, worst = max(bounds, key=lambda pair: pair[0])
    sentence = f"{worst.harm.successes:,} of {worst.harm.trials:,} in {_name(worst)}: at most {high:.3f}"
    return Measured(float(high), sentence, worst.evidence)


def _regress(case: Case) -> Measured:
    twins = _twins(case)
    if not case.incumbent:
        return Measured(0.0, "no other policy is live")
    rivals = {
        (rival.twin, rival.evaluation.subject.seed, rival.evaluation.subject.ensemble): rival for rival in case.rivals
    }
    comparisons = []
    for evaluation in case.evaluations:
        subject = evaluation.evaluation.subject
        rival = rivals.get((evaluation.twin, subject.seed, subject.ensemble))
        if rival is not None:
            comparisons.append((compare(evaluation.evaluation, rival.evaluation), evaluation, rival))
    lacking = [twin for twin in twins if twin.twin not in {ours.twin for _, ours, _ in comparisons}]
    if lacking:
        advice = "run `twinloop evaluate --against`"
        return Measured(None, f"the live policy was not evaluated on the same draws of {_name(lacking[0])}; {advice}")
    worst, ours, rival = min(comparisons, key=lambda row: row[0].interval[0])
    low, high = worst.interval
    if worst.trials < case.rules.validated.episodes:
        return Measured(None, f"only {worst.trials:,} draws in common", (ours.digest, rival.digest))
    sentence = f"{100 * worst.difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}) on {worst.trials:,} draws"
    return Measured(float(low), sentence, (ours.digest, rival.digest))


def _twins(case: Case) -> tuple[TwinRate, ...]:
    if not case.twins:
        raise RegistryError("no evaluation of this policy; run `twinloop evaluate`, or give --config FILE here")
    return case.twins


def _name(rate: TwinRate) -> str:
    return f"{rate.config} ({rate.twin[:8]})"

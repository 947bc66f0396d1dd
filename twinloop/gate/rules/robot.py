"""Rules of canary -> production: evidence from the robot."""

from collections.abc import Callable
from functools import partial

import numpy as np

from twinloop.dataset.real_episodes import CANDIDATE, RealEpisodes
from twinloop.errors import RegistryError
from twinloop.gate.case import Case
from twinloop.gate.repeats import combined
from twinloop.gate.rules.canary import approval_rule
from twinloop.gate.rules.finding import Measured, Rule
from twinloop.gate.rules.twin import believed
from twinloop.gate.sequence import ACCEPT, arms_of, judge_real_trials, longest_run
from twinloop.gate.statistics.binomial import clopper_pearson
from twinloop.gate.statistics.prediction_powered import Combined

HOW = "run trials with `--robot R --human-ready`, or with `twinloop deploy canary` and give them with --runlog DIR"


def rules(case: Case) -> tuple[Rule, ...]:
    limits = case.rules.production
    test = "result of the sequential test of real trials"
    rules = [
        Rule("evidence", "all evidence files, old and new, are unchanged", "is", True, partial(believed, case)),
        Rule("trials", "number of trials of the candidate, and of the live policy if there is one", "at least",
             limits.trials, partial(_trials, case)),
        Rule("sequential test", test, "is", ACCEPT, partial(_sequential, case)),
        Rule("success", "measured real success", "at least", limits.least_success, partial(_success, case)),
        Rule("interventions", "share of episodes with an intervention", "at most", limits.interventions,
             partial(_share, case, "episodes", lambda real: real.interventions > 0)),
        Rule("safety", "share of periods in which the filter stopped it from leaving the workspace or pressing on",
             "at most", limits.safety, partial(_periods, case, lambda real: real.blocked)),
        Rule("filter", "share of periods in which the filter changed the command for any reason", "at most",
             limits.filter, partial(_periods, case, lambda real: real.filtered)),
        Rule("finite commands", "periods with NaN or infinite commands", "at most", 0.0,
             partial(_non_finite, case)),
        Rule("aborted", "share of aborted episodes", "at most", limits.aborted,
             partial(_aborted, case)),
        Rule("unknown", "share of episodes with unknown outcome", "at most", limits.unknown,
             partial(_share, case, "episodes", lambda real: real.outcome == "unknown")),
        Rule("deadlines", "share of periods with a missed deadline", "at most", limits.deadlines,
             partial(_periods, case, lambda real: real.deadlines_missed)),
    ]  # fmt: skip
    if limits.prediction_powered and case.repeats:
        both = "real success from trials and twin together, lower end (95 %)"
        rules.append(Rule("with the twin", both, "at least", limits.least_success, partial(_combined, case)))
    if any(np.isfinite(log.episodes.speed).any() for log in case.runlogs):
        slow = "share of the robot's speed in the trials"
        rules.append(Rule("speed", slow, "at most", case.rules.canary.speed, partial(_speed, case)))
    if limits.approvals and case.on_hardware:
        rules.append(approval_rule(case, "production", limits.approvals))
    if case.incumbent:
        alternate = "trials of one arm in a row; candidate and live policy must take turns"
        rules.insert(2, Rule("interleaved", alternate, "at most", limits.longest_run, partial(_interleaved, case)))
    return tuple(rules)


def _trials(case: Case) -> Measured:
    candidate, control = arms_of(case)
    text = f"{len(candidate)} of the candidate"
    fewest = len(candidate)
    if case.incumbent:
        fewest = min(fewest, len(control))
        text += f", {len(control)} of the live policy {case.incumbent[:12]}"
    if not case.runlogs:
        return Measured(None, f"no runlog; {HOW}")
    if case.ungated:
        text += f"; {case.ungated} episodes without a decision of this registry do not count"
    return Measured(float(fewest), text, _logs(case))


def _interleaved(case: Case) -> Measured:
    candidate, control = arms_of(case)
    if not len(candidate) or not len(control):
        return Measured(None, f"{len(candidate)} trials of the candidate and {len(control)} of the live policy")
    longest = longest_run(case)
    return Measured(float(longest), f"at most {longest} of one arm in a row", _logs(case))


def _sequential(case: Case) -> Measured:
    _candidate(case)
    test = judge_real_trials(case)
    ends = "" if test.estimate is None else f" ({test.estimate:.2f}, {test.low:.2f} to {test.high:.2f})"
    result = {"accept": "good enough", "reject": "not good enough", "continue": "undecided"}[test.decision]
    return Measured(test.decision, f"{result} after {test.trials} trials: {test.reason}{ends}", _logs(case))


def _success(case: Case) -> Measured:
    rate = _candidate(case).success
    low, high = rate.interval
    sentence = f"{rate.successes} of {rate.trials} without help ({100 * low:.0f} to {100 * high:.0f} %)"
    return Measured(rate.value, sentence, _logs(case))


def _share(case: Case, of: str, which: Callable[[RealEpisodes], np.ndarray]) -> Measured:
    real = _candidate(case)
    hits = int(which(real).sum())
    return Measured(hits / len(real), f"{hits} of {len(real)} {of}", _logs(case))


def _aborted(case: Case) -> Measured:
    """Count interrupted episodes too, which the test leaves out: interrupting bad episodes must not help a policy."""
    real = case.episodes.of(case.digest)
    _candidate(case)
    aborted, interrupted = int((real.outcome == "aborted").sum()), int(real.interrupted.sum())
    sentence = f"{aborted} of {len(real)} episodes, {interrupted} of which the operator interrupted"
    return Measured(aborted / len(real), sentence, _logs(case))


def _periods(case: Case, which: Callable[[RealEpisodes], np.ndarray]) -> Measured:
    real = _candidate(case)
    hits, periods = int(which(real).sum()), int(real.length.sum())
    return Measured(hits / periods if periods else None, f"{hits:,} of {periods:,} control periods", _logs(case))


def _combined(case: Case) -> Measured:
    """Prediction-powered lower end: valid for any bias of the twin, and narrower the better the twin predicts.

    With several twins, the lowest bound counts, so that a favourable twin cannot be selected. If trials and twin cannot
    be combined, the exact lower bound of the trials alone is used.
    """
    real = _candidate(case)
    results = [combined(repeats, real, case.evaluations) for repeats in case.repeats]
    could = [result for result in results if isinstance(result, Combined)]
    used = (*_logs(case), *(repeats.digest() for repeats in case.repeats))
    if not could:
        low, high = clopper_pearson(real.success.successes, len(real))
        why = "; ".join(result for result in results if isinstance(result, str))
        alone = f"the trials alone give {float(low):.2f} to {float(high):.2f}"
        return Measured(float(low), f"cannot be combined: {why}; {alone}", used)
    result = min(could, key=lambda rate: rate.low)
    sentence = (
        f"{result.estimate:.2f} ({result.low:.2f} to {result.high:.2f}); the trials alone give "
        f"{result.real_low:.2f} to "
        f"{result.real_high:.2f}; worth {result.worth_trials} real trials instead of {result.trials}"
    )
    return Measured(result.low, sentence, (*used, *(evaluation.digest for evaluation in case.evaluations)))


def _speed(case: Case) -> Measured:
    fastest = float(np.nanmax(_candidate(case).speed))
    return Measured(fastest, f"the fastest trial was at {fastest:g}", _logs(case))


def _non_finite(case: Case) -> Measured:
    real = _candidate(case)
    if "non_finite" not in real.safety:
        return Measured(None, "the runlog has no column safety/non_finite")
    hits = int(real.safety["non_finite"].sum())
    return Measured(float(hits), f"{hits} periods", _logs(case))


def _candidate(case: Case) -> RealEpisodes:
    candidate, _ = arms_of(case)
    if not len(candidate):
        missing = f"arm {CANDIDATE!r}" if case.incumbent else "this checkpoint"
        raise RegistryError(f"no real episodes of {missing}; {HOW}")
    return candidate


def _logs(case: Case) -> tuple[str, ...]:
    return tuple(log.digest for log in case.runlogs)

"""canary -> production: what a policy must show on the robot."""

from collections.abc import Callable
from functools import partial

import numpy as np

from twinloop.dataset.real_episodes import CANDIDATE, RealEpisodes
from twinloop.errors import RegistryError
from twinloop.gate.case import Case
from twinloop.gate.repeats import combined
from twinloop.gate.rules.finding import Measured, Rule
from twinloop.gate.rules.twin import believed
from twinloop.gate.sequence import ACCEPT, arms_of, longest_run, standing_of_trials
from twinloop.gate.statistics.binomial import clopper_pearson
from twinloop.gate.statistics.prediction_powered import Combined

HOW = "`--robot R --human-ready` runs the trials, `twinloop deploy` does, and --runlog shows them"


def rules(case: Case) -> tuple[Rule, ...]:
    asked = case.rules.production
    test = "the sequential test of real trials has its answer"
    rules = [
        Rule("evidence", "all that was shown, now or before, can be believed", "is", True, partial(believed, case)),
        Rule("trials", "real episodes of the candidate, and of the live policy where there is one", "at least",
             asked.trials, partial(_trials, case)),
        Rule("sequential test", f"{test}: good enough", "is", ACCEPT, partial(_sequential, case)),
        Rule("success", "measured real success", "at least", asked.least_success, partial(_success, case)),
        Rule("interventions", "share of episodes in which somebody intervened", "at most", asked.interventions,
             partial(_share, case, "episodes", lambda real: real.interventions > 0)),
        Rule("safety", "share of control periods in which the filter kept it from leaving the workspace or pressing on",
             "at most", asked.safety, partial(_periods, case, lambda real: real.grave)),
        Rule("filter", "share of control periods in which the filter changed the command for any reason", "at most",
             asked.filter, partial(_periods, case, lambda real: real.filtered)),
        Rule("finite commands", "control periods in which the policy commanded no number", "at most", 0.0,
             partial(_non_finite, case)),
        Rule("aborted", "share of episodes that were aborted", "at most", asked.aborted,
             partial(_aborted, case)),
        Rule("unknown", "share of episodes whose outcome nobody knows", "at most", asked.unknown,
             partial(_share, case, "episodes", lambda real: real.outcome == "unknown")),
        Rule("deadlines", "share of control periods that came too late", "at most", asked.deadlines,
             partial(_periods, case, lambda real: real.deadlines_missed)),
    ]  # fmt: skip
    if asked.prediction_powered and case.repeats:
        both = "real success from trials and twin together, lower end (95 %)"
        rules.append(Rule("with the twin", both, "at least", asked.least_success, partial(_combined, case)))
    if any(np.isfinite(log.episodes.speed).any() for log in case.runlogs):
        slow = "share of the robot's speed in the trials"
        rules.append(Rule("speed", slow, "at most", case.rules.canary.speed, partial(_speed, case)))
    if case.incumbent:
        alternate = "trials of one arm in a row: candidate and live policy take turns"
        rules.insert(2, Rule("interleaved", alternate, "at most", asked.longest_run, partial(_interleaved, case)))
    return tuple(rules)


def _trials(case: Case) -> Measured:
    candidate, control = arms_of(case)
    told = f"{len(candidate)} of the candidate"
    fewest = len(candidate)
    if case.incumbent:
        fewest = min(fewest, len(control))
        told += f", {len(control)} of the live policy {case.incumbent[:12]}"
    if not case.runlogs:
        return Measured(None, f"no runlog was shown; {HOW}")
    return Measured(float(fewest), told, _logs(case))


def _interleaved(case: Case) -> Measured:
    candidate, control = arms_of(case)
    if not len(candidate) or not len(control):
        return Measured(None, f"{len(candidate)} trials of the candidate and {len(control)} of the live policy")
    longest = longest_run(case)
    return Measured(float(longest), f"at most {longest} of one arm came in a row", _logs(case))


def _sequential(case: Case) -> Measured:
    _candidate(case)
    standing = standing_of_trials(case)
    ends = "" if standing.estimate is None else f" ({standing.estimate:.2f}, {standing.low:.2f} to {standing.high:.2f})"
    word = {"accept": "good enough", "reject": "not good enough", "continue": "not known yet"}[standing.decision]
    return Measured(standing.decision, f"{word} after {standing.trials} trials: {standing.reason}{ends}", _logs(case))


def _success(case: Case) -> Measured:
    rate = _candidate(case).success
    low, high = rate.interval
    said = f"{rate.successes} of {rate.trials} without help ({100 * low:.0f} to {100 * high:.0f} %)"
    return Measured(rate.value, said, _logs(case))


def _share(case: Case, of: str, which: Callable[[RealEpisodes], np.ndarray]) -> Measured:
    real = _candidate(case)
    hits = int(which(real).sum())
    return Measured(hits / len(real), f"{hits} of {len(real)} {of}", _logs(case))


def _aborted(case: Case) -> Measured:
    """Also those that whoever ran it broke off, which the test leaves out: nobody is to break off what goes badly."""
    real = case.episodes.of(case.digest)
    _candidate(case)
    aborted, broken = int((real.outcome == "aborted").sum()), int(real.interrupted.sum())
    said = f"{aborted} of {len(real)} episodes, {broken} of them broken off by whoever ran them"
    return Measured(aborted / len(real), said, _logs(case))


def _periods(case: Case, which: Callable[[RealEpisodes], np.ndarray]) -> Measured:
    real = _candidate(case)
    hits, periods = int(which(real).sum()), int(real.length.sum())
    return Measured(hits / periods if periods else None, f"{hits:,} of {periods:,} control periods", _logs(case))


def _combined(case: Case) -> Measured:
    """Prediction-powered: right whatever the twin's bias; the better the twin foretells, the narrower. Of several twins
    the least favourable counts, so that none is looked for. Where nothing can be combined, the trials alone have to say
    it, as exactly as they can."""
    real = _candidate(case)
    each = [combined(repeats, real, case.evaluations) for repeats in case.repeats]
    could = [found for found in each if isinstance(found, Combined)]
    used = (*_logs(case), *(repeats.digest() for repeats in case.repeats))
    if not could:
        low, high = clopper_pearson(real.success.successes, len(real))
        why = "; ".join(found for found in each if isinstance(found, str))
        alone = f"the trials alone say {float(low):.2f} to {float(high):.2f}"
        return Measured(float(low), f"cannot be combined: {why}; {alone}", used)
    found = min(could, key=lambda one: one.low)
    said = (
        f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f}); the trials alone say {found.real_low:.2f} to "
        f"{found.real_high:.2f}; worth {found.worth_trials} real trials instead of {found.trials}"
    )
    return Measured(found.low, said, (*used, *(each.digest for each in case.evaluations)))


def _speed(case: Case) -> Measured:
    fastest = float(np.nanmax(_candidate(case).speed))
    return Measured(fastest, f"the fastest trial was at {fastest:g}", _logs(case))


def _non_finite(case: Case) -> Measured:
    real = _candidate(case)
    if "non_finite" not in real.safety:
        return Measured(None, "the runlog has no column safety/non_finite")
    hits = int(real.safety["non_finite"].sum())
    return Measured(float(hits), f"{hits} control periods", _logs(case))


def _candidate(case: Case) -> RealEpisodes:
    candidate, _ = arms_of(case)
    if not len(candidate):
        what = f"arm {CANDIDATE!r}" if case.incumbent else "this checkpoint"
        raise RegistryError(f"no real episode of {what} was shown; {HOW}")
    return candidate


def _logs(case: Case) -> tuple[str, ...]:
    return tuple(log.digest for log in case.runlogs)

"""The sequential test of real trials: candidate against the live policy in turns, or alone against a threshold."""

from dataclasses import dataclass

import numpy as np
import scipy

from twinloop.dataset.real_episodes import CANDIDATE, CONTROL, RealEpisodes
from twinloop.gate.case import Case
from twinloop.gate.rules.config import ProductionRules
from twinloop.gate.statistics.expectation import expect
from twinloop.gate.statistics.sequential import PairPlan, RatePlan, TestState

ACCEPT = "accept"
SERIES = 2000  # simulated sessions that the expected number of trials is taken from


@dataclass(frozen=True)
class SequentialStep:
    """State of the test after a trial or pair of trials: log wealth against both claims."""

    trials: int
    log_evidence_for: float
    log_evidence_against: float


def plan_of(rules: ProductionRules, *, against: bool) -> RatePlan | PairPlan:
    """Return the plan of the test. `against`: whether the candidate is compared with a live policy."""
    if against:
        return PairPlan(null=-rules.regress, target=rules.gain, error=rules.error, miss=rules.miss)
    return RatePlan(null=rules.success, target=rules.aim, error=rules.error, miss=rules.miss)


def expected_trials(case: Case, *, most: int) -> str:
    """Say how many trials the sequential test will probably need, from simulated series of trials.

    Without a live policy the candidate is taken to succeed as often as `production.aim` asks; against one, to be better
    by `production.gain`, where the live policy succeeds as often as in its own trials.

    Args:
        most: number of the candidate's trials at which the session stops.
    """
    rules = case.rules.production
    plan = plan_of(rules, against=bool(case.incumbent))
    if isinstance(plan, PairPlan):
        live = case.episodes.of(case.incumbent).success
        control = live.value if live.trials else rules.aim
        candidate = min(1.0, control + rules.gain)
        only_candidate, only_control = candidate * (1 - control), control * (1 - candidate)
        chances = (only_control, 1 - only_control - only_candidate, only_candidate)
        assumed = f"the candidate succeeds in {candidate:.0%} and the live policy in {control:.0%} of trials"
    else:
        chances = (1 - rules.aim, rules.aim)
        assumed = f"{rules.aim:.0%} of trials succeed"
    expected = expect(plan, chances, series=SERIES, most_trials=most, seed=0)
    text = f"at most {most}; if {assumed}, the median is {expected.median_trials:.0f}"
    return text + (f", and {expected.undecided:.0%} of sessions end undecided" if expected.undecided >= 0.01 else "")


def arms_of(case: Case) -> tuple[RealEpisodes, RealEpisodes]:
    """Return the episodes of candidate and control.

    Without a live policy, every episode of the candidate counts, in any arm, and the control is empty. With one, the
    i-th trials of both are a pair: those of the same scene, if scenes were recorded.
    """
    episodes = case.episodes.take(~case.episodes.interrupted)
    if not case.incumbent:
        return episodes.of(case.digest), episodes.take(np.zeros(len(episodes), bool))
    return _matched(episodes.of(case.digest, CANDIDATE), episodes.of(case.incumbent, CONTROL))


def _matched(ours: RealEpisodes, theirs: RealEpisodes) -> tuple[RealEpisodes, RealEpisodes]:
    """Sort both by the candidate's scenes; unpaired scenes come last. Without scenes, return both unchanged."""
    scenes = [list(zip(arm.log.tolist(), arm.scene.tolist(), strict=True)) for arm in (ours, theirs)]
    if any(scene < 0 for arm in scenes for _, scene in arm) or any(len(set(arm)) < len(arm) for arm in scenes):
        return ours, theirs
    places = {scene: place for place, scene in enumerate(scenes[1])}
    both = [(place, places.pop(scene)) for place, scene in enumerate(scenes[0]) if scene in places]
    met = {place for place, _ in both}
    first = [place for place, _ in both] + [place for place in range(len(ours)) if place not in met]
    second = [place for _, place in both] + sorted(places.values())
    return ours.take(np.array(first, int)), theirs.take(np.array(second, int))


def counted(candidate: RealEpisodes, control: RealEpisodes) -> tuple[np.ndarray, np.ndarray]:
    """Return the successes of both. Unknown outcomes count as candidate failures and control successes."""
    return candidate.managed, control.managed | (control.outcome == "unknown")


def judge(plan: RatePlan | PairPlan, ours: np.ndarray, theirs: np.ndarray) -> TestState:
    if isinstance(plan, PairPlan):
        return plan.judge_trials(ours, theirs)
    return plan.judge_trials(ours)


def judge_real_trials(case: Case) -> TestState:
    plan = plan_of(case.rules.production, against=bool(case.incumbent))
    return judge(plan, *counted(*arms_of(case)))


def path_of_trials(case: Case) -> tuple[SequentialStep, ...]:
    """Return the state of the test after each trial so far."""
    plan = plan_of(case.rules.production, against=bool(case.incumbent))
    ours, theirs = counted(*arms_of(case))
    outcomes = ours.astype(int)  # index of each outcome in plan.outcomes
    if isinstance(plan, PairPlan):
        pairs = min(len(ours), len(theirs))
        outcomes = 1 + outcomes[:pairs] - theirs[:pairs]
    counts = np.cumsum(np.eye(len(plan.outcomes))[outcomes], axis=0)
    sides = zip((plan.bets_for, plan.bets_against), plan.factors(), strict=True)
    better, worse = (
        scipy.special.logsumexp(bets.log_weights + counts @ np.log(gains), axis=1) for bets, gains in sides
    )
    return tuple(
        SequentialStep(trials, float(a), float(b)) for trials, (a, b) in enumerate(zip(better, worse, strict=True), 1)
    )


def longest_run(case: Case) -> int:
    """Return the largest number of consecutive trials of one arm."""
    episodes = case.episodes.take(~case.episodes.interrupted)
    ours = (episodes.checkpoint == case.digest) & (episodes.arm == CANDIDATE)
    theirs = (episodes.checkpoint == case.incumbent) & (episodes.arm == CONTROL)
    turns = ours[ours | theirs]
    if not len(turns):
        return 0
    edges = np.flatnonzero(np.diff(turns.astype(int))) + 1
    return int(np.diff(np.concatenate([[0], edges, [len(turns)]])).max())

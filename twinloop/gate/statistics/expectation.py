"""Simulated error rates and numbers of trials of a sequential test plan."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.gate.statistics.sequential import PairPlan, RatePlan

BATCH = 4000


@dataclass(frozen=True)
class Expectation:
    """Results of simulated series of trials.

    Attributes:
        series: number of simulated series.
        most_trials: largest number of trials in a series.
        accepted, rejected, undecided: shares of the series; undecided after `most_trials`.
        mean_trials, median_trials, p90_trials: number of trials, including undecided series.
    """

    series: int
    most_trials: int
    accepted: float
    rejected: float
    undecided: float
    mean_trials: float
    median_trials: float
    p90_trials: float


def expect(
    plan: RatePlan | PairPlan, chances: Sequence[float], *, series: int, most_trials: int, seed: int
) -> Expectation:
    """Simulate `series` series of trials. `chances` are the probabilities of the plan's outcomes.

    Each series is tested after every trial.
    """
    chance = np.asarray(chances, float)
    if len(chance) != len(plan.outcomes) or (chance < 0).any() or abs(chance.sum() - 1) > 1e-9:
        raise ValueError(
            f"{list(chances)} was given; chances of {', '.join(plan.outcomes)} that sum to 1 were expected"
        )
    rng = np.random.default_rng(seed)
    ends = [_series(plan, chance, min(BATCH, series - first), most_trials, rng) for first in range(0, series, BATCH)]
    verdict, took = (np.concatenate([end[part] for end in ends]) for part in (0, 1))
    return Expectation(
        series=series, most_trials=most_trials,
        accepted=float((verdict == 1).mean()), rejected=float((verdict == -1).mean()),
        undecided=float((verdict == 0).mean()), mean_trials=float(took.mean()),
        median_trials=float(np.median(took)), p90_trials=float(np.quantile(took, 0.9)),
    )  # fmt: skip


def _series(
    plan: RatePlan | PairPlan, chances: np.ndarray, count: int, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return (verdict, number of trials), each (many,). The verdict is 1 (accept), -1 (reject) or 0 (undecided)."""
    verdict, took, open_ = np.zeros(count, int), np.full(count, most), np.arange(count)
    sides = ((plan.bets_for, plan.error), (plan.bets_against, plan.miss))
    gains = plan.factors()
    wealth = [np.ones((count, len(side.shares))) for side, _ in sides]
    for trial in range(1, most + 1):
        outcome = rng.choice(len(chances), size=len(open_), p=chances)
        decided = []
        for place, (side, wrong) in enumerate(sides):
            wealth[place] *= gains[place][outcome]
            decided.append(wealth[place] @ side.weights >= 1 / wrong)
        better, worse = decided[0], decided[1] & ~decided[0]
        verdict[open_[better]], verdict[open_[worse]] = 1, -1
        ended = better | worse
        took[open_[ended]] = trial
        open_, wealth = open_[~ended], [side_wealth[~ended] for side_wealth in wealth]
        if not len(open_):
            break
    return verdict, took

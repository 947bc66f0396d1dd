"""Trials that stop as soon as the answer is known: accept, reject or go on, at every look.

Two claims are bet against at once. "It is no better than `null`": once refuted, accept. "It is as good as `target`":
once refuted, reject. Whoever looks after every trial and stops when it suits accepts what is not better than `null`
with a chance of at most `error`, and rejects what is as good as `target` with a chance of at most `miss`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from twinloop.gate.statistics.bets import Bets, best_share, bets, limits

Decision = Literal["accept", "reject", "continue"]


@dataclass(frozen=True)
class TestState:
    """Where the trials are, at this look. The first accept or reject is the answer; evidence may fall back later.

    counted: outcome -> how often. estimate, low, high: of what is tested, the ends a confidence sequence that holds at
        all looks together (confidence 1 - error); estimate is None before the first trial.
    log_evidence_for: the logarithm of the money won against "no better than null"; `accept` from -log(error) on.
    log_evidence_against: the same against "as good as target"; `reject` from -log(miss) on.
    """

    decision: Decision
    trials: int
    counted: dict[str, int]
    estimate: float | None
    low: float
    high: float
    log_evidence_for: float
    log_evidence_against: float
    null: float
    target: float
    error: float
    miss: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Plan(ABC):
    null: float
    target: float
    error: float = 0.05
    miss: float = 0.1

    def __post_init__(self) -> None:
        for name, value in (("error", self.error), ("miss", self.miss)):
            if not 0 < value < 1:
                raise ValueError(f"{name}: {value} was given, a chance between 0 and 1 was expected")
        low, high = self.scale
        if not low < self.null < self.target < high:
            raise ValueError(
                f"null {self.null} and target {self.target} were given; {low:g} < null < target < {high:g} was expected"
            )

    @property
    def scale(self) -> tuple[float, float]:
        """The smallest and the largest value an outcome may have."""
        return 0.0, 1.0

    @property
    @abstractmethod
    def outcomes(self) -> dict[str, float]:
        """Name -> what a trial that ended so counts as."""

    @property
    def values(self) -> np.ndarray:
        """Of the outcomes, scaled to 0..1."""
        return self._scaled(np.array(list(self.outcomes.values())))

    def _scaled(self, value):
        low, high = self.scale
        return (value - low) / (high - low)

    @abstractmethod
    def chances(self, mean: float) -> tuple[float, ...]:
        """Of the outcomes, supposed that what is tested is `mean`. Wrong suppositions cost trials, nothing else."""

    @cached_property
    def bets_for(self) -> Bets:
        return bets(aimed=best_share(self.values, self.chances(self.target), self._scaled(self.null)))

    @cached_property
    def bets_against(self) -> Bets:
        return bets(aimed=best_share(1 - self.values, self.chances(self.null), 1 - self._scaled(self.target)))

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Each (outcomes, shares): what an outcome turns one unit into, against `null` and against `target`."""
        null, target = self._scaled(self.null), self._scaled(self.target)
        return self.bets_for.factors(self.values, null), self.bets_against.factors(1 - self.values, 1 - target)

    def judge(self, counts: Sequence[int]) -> TestState:
        """From how often each of the outcomes came."""
        if len(counts) != len(self.outcomes) or min(counts) < 0:
            raise ValueError(f"{list(counts)} was given; how often each of {', '.join(self.outcomes)} was expected")
        trials, tally = int(sum(counts)), np.asarray(counts, float)
        null, target = self._scaled(self.null), self._scaled(self.target)
        better = float(self.bets_for.log_money(self.values, tally, null))
        worse = float(self.bets_against.log_money(1 - self.values, tally, 1 - target))
        bottom, (low, high) = self.scale[0], limits(self.values, tally, error=self.error)
        wide = self.scale[1] - bottom
        mean = float(tally @ np.array(list(self.outcomes.values())) / trials) if trials else None
        decision, reason = self._decided(better, worse)
        return TestState(
            decision=decision, trials=trials, counted=dict(zip(self.outcomes, map(int, counts), strict=True)),
            estimate=mean, low=bottom + wide * low, high=bottom + wide * high,
            log_evidence_for=better, log_evidence_against=worse,
            null=self.null, target=self.target, error=self.error, miss=self.miss, reason=reason,
        )  # fmt: skip

    def _decided(self, better: float, worse: float) -> tuple[Decision, str]:
        name = self.tested
        if better >= -np.log(self.error):
            return "accept", f"{name} is above {self.null:g}; the chance of saying so wrongly is {self.error:g} at most"
        if worse >= -np.log(self.miss):
            return (
                "reject",
                f"{name} is below {self.target:g}; the chance of saying so wrongly is {self.miss:g} at most",
            )
        return "continue", f"neither that {name} is above {self.null:g} nor that it is below {self.target:g} is shown"

    @property
    def tested(self) -> str:
        return "the success rate"


@dataclass(frozen=True)
class RatePlan(_Plan):
    """One policy: is its success rate above `null`, or below `target`?"""

    @property
    def outcomes(self) -> dict[str, float]:
        return {"failures": 0.0, "successes": 1.0}

    def chances(self, mean: float) -> tuple[float, ...]:
        return 1 - mean, mean

    def judge_trials(self, success: Sequence[bool] | np.ndarray) -> TestState:
        hits = int(np.asarray(success, bool).sum())
        return self.judge((len(success) - hits, hits))


@dataclass(frozen=True)
class PairPlan(_Plan):
    """Candidate and control, a trial each in turn, or on the same draw: is the difference of their success rates above
    `null` (0: better; below 0: not worse by more than that), or below `target`?

    A pair counts as 1 where only the candidate managed, as -1 where only the control did. That asks nothing of how
    the two trials of a pair depend on each other, nor that the day is the same throughout: within each pair only, both
    must meet the same chances. For two independent arms at 0.9 and 0.7 it gains 0.063 a pair (natural logarithm); the
    best any test could gain there is 0.065.

    differ: the share of pairs that is supposed to come out differently; 0.34 for those two arms, less on one draw.
    """

    differ: float = 0.35

    @property
    def scale(self) -> tuple[float, float]:
        return -1.0, 1.0

    @property
    def outcomes(self) -> dict[str, float]:
        return {"only_control": -1.0, "same": 0.0, "only_candidate": 1.0}

    def chances(self, mean: float) -> tuple[float, ...]:
        differ = min(1.0, max(self.differ, abs(mean) + 0.02))
        return (differ - mean) / 2, 1 - differ, (differ + mean) / 2

    @property
    def tested(self) -> str:
        return "the candidate's success rate less the control's"

    def judge_trials(self, candidate: Sequence[bool] | np.ndarray, control: Sequence[bool] | np.ndarray) -> TestState:
        """In the order of the trials; one without its partner does not count yet."""
        pairs = min(len(candidate), len(control))
        ours, theirs = np.asarray(candidate[:pairs], bool), np.asarray(control[:pairs], bool)
        won, lost = int((ours & ~theirs).sum()), int((~ours & theirs).sum())
        return self.judge((lost, pairs - won - lost, won))

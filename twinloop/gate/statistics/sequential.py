"""Sequential tests: accept, reject or continue after every trial.

Two claims are tested by bets at the same time. If "it is not better than `null`" is refuted, the test accepts. If "it
is at least as good as `target`" is refuted, the test rejects. The result may be checked after every trial, and the
trials may stop at any time. A policy that is not better than `null` is accepted with probability at most `error`. A
policy that is as good as `target` is rejected with probability at most `miss`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from twinloop.gate.statistics.bets import Bets, best_share, bets, limits

Decision = Literal["accept", "reject", "continue"]


@dataclass(frozen=True)
class TestState:
    """The state of a test after some trials. The first accept or reject is final; the evidence may decrease later.

    Attributes:
        counted: outcome -> count.
        estimate: estimate of the tested quantity; None before the first trial.
        low, high: confidence sequence of the tested quantity, valid at all looks together (confidence 1 - error).
        log_evidence_for: log wealth of the bets against "not better than null"; `accept` from -log(error) on.
        log_evidence_against: log wealth of the bets against "as good as target"; `reject` from -log(miss) on.
        reason: the decision in words.
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


@dataclass(frozen=True)
class _Plan(ABC):
    null: float
    target: float
    error: float = 0.05
    miss: float = 0.1

    def __post_init__(self) -> None:
        for name, value in (("error", self.error), ("miss", self.miss)):
            if not 0 < value < 1:
                raise ValueError(f"{name}: {value} was given, a probability between 0 and 1 was expected")
        low, high = self.scale
        if not low < self.null < self.target < high:
            raise ValueError(
                f"null {self.null} and target {self.target} were given; {low:g} < null < target < {high:g} was expected"
            )

    @property
    def scale(self) -> tuple[float, float]:
        """The smallest and the largest value of an outcome."""
        return 0.0, 1.0

    @property
    @abstractmethod
    def outcomes(self) -> dict[str, float]:
        """Name of an outcome -> its value."""

    @property
    def values(self) -> np.ndarray:
        """Values of the outcomes, scaled to 0..1."""
        return self._scaled(np.array(list(self.outcomes.values())))

    def _scaled(self, value):
        low, high = self.scale
        return (value - low) / (high - low)

    @abstractmethod
    def chances(self, mean: float) -> tuple[float, ...]:
        """Assumed probabilities of the outcomes if the tested quantity is `mean`.

        Wrong assumptions only increase the number of trials.
        """

    @cached_property
    def bets_for(self) -> Bets:
        return bets(aimed=best_share(self.values, self.chances(self.target), self._scaled(self.null)))

    @cached_property
    def bets_against(self) -> Bets:
        return bets(aimed=best_share(1 - self.values, self.chances(self.null), 1 - self._scaled(self.target)))

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Factors by which each outcome multiplies the wealth, against `null` and `target`, each (outcomes, shares)."""
        null, target = self._scaled(self.null), self._scaled(self.target)
        return self.bets_for.factors(self.values, null), self.bets_against.factors(1 - self.values, 1 - target)

    def judge(self, counts: Sequence[int]) -> TestState:
        """Return the state of the test from the count of each outcome."""
        if len(counts) != len(self.outcomes) or min(counts) < 0:
            raise ValueError(f"{list(counts)} was given; counts of {', '.join(self.outcomes)} were expected")
        trials, tally = int(sum(counts)), np.asarray(counts, float)
        null, target = self._scaled(self.null), self._scaled(self.target)
        better = float(self.bets_for.log_wealth(self.values, tally, null))
        worse = float(self.bets_against.log_wealth(1 - self.values, tally, 1 - target))
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
            return "accept", f"{name} is above {self.null:g}; the error probability is at most {self.error:g}"
        if worse >= -np.log(self.miss):
            return (
                "reject",
                f"{name} is below {self.target:g}; the error probability is at most {self.miss:g}",
            )
        return "continue", f"it is not shown yet that {name} is above {self.null:g} or below {self.target:g}"

    @property
    def tested(self) -> str:
        return "the success rate"


@dataclass(frozen=True)
class RatePlan(_Plan):
    """Test of one policy: its success rate is above `null`, or below `target`."""

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
    """Test of the difference between the success rates of candidate and control.

    The arms take turns, or both run on the same draw. The difference is above `null` (0: better; below 0: not worse by
    more than that), or below `target`.

    A pair counts as 1 if only the candidate succeeds, as -1 if only the control succeeds, else as 0. The test makes no
    assumption on the dependence within a pair, and conditions may change between pairs. Only the two trials of one
    pair must have the same conditions. For two independent arms at 0.9 and 0.7 the gain is 0.063 per pair (natural
    logarithm). The largest possible gain of any test is 0.065 there.

    Attributes:
        differ: assumed share of pairs with different outcomes; 0.34 for those two arms, less on the same draw.
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
        return "the candidate's success rate minus the control's"

    def judge_trials(self, candidate: Sequence[bool] | np.ndarray, control: Sequence[bool] | np.ndarray) -> TestState:
        """Return the state of the test. Trials are paired in order; a trial without a partner is not counted yet."""
        pairs = min(len(candidate), len(control))
        ours, theirs = np.asarray(candidate[:pairs], bool), np.asarray(control[:pairs], bool)
        won, lost = int((ours & ~theirs).sum()), int((~ours & theirs).sum())
        return self.judge((lost, pairs - won - lost, won))

"""Tests of success against the recorded conditions of episodes: exact, and corrected for the number of tests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate

MIN_EPISODES = 3  # least number of episodes of a kind, and of all others


@dataclass(frozen=True)
class ConditionTest:
    """Test of the success of one kind of episodes (`object: can`) against all others.

    Attributes:
        about: the condition, such as `object`.
        kind: its value, such as `can`.
        these, others: success rates.
        p: two-sided p-value of Fisher's exact test.
        corrected: p-value after Holm's correction for all condition tests of a diagnosis.
    """

    about: str
    kind: str
    these: Rate
    others: Rate
    p: float
    corrected: float

    def to_json(self) -> dict[str, Any]:
        rates = {
            name: {"successes": rate.successes, "trials": rate.trials, "interval": list(rate.interval)}
            for name, rate in (("these", self.these), ("others", self.others))
        }
        return {"about": self.about, "kind": self.kind, **rates, "p": self.p, "corrected": self.corrected}


def condition_tests(kinds: Mapping[str, np.ndarray], success: np.ndarray) -> tuple[ConditionTest, ...]:
    """Test all conditions; the smallest p-value first.

    Args:
        kinds: condition -> (n,) its value in each episode, "" if unknown.
        success: (n,) whether each episode succeeded.
    """
    from scipy.stats import fisher_exact

    tests = []
    for about, values in kinds.items():
        for kind in sorted({str(value) for value in values} - {""}):
            mine = values == kind
            if min(mine.sum(), (~mine).sum()) < MIN_EPISODES:
                continue
            these, others = _rate(success[mine]), _rate(success[~mine])
            p = float(np.asarray(fisher_exact([_row(these), _row(others)]))[1])
            tests.append(ConditionTest(about, kind, these, others, p, corrected=1.0))
    tests.sort(key=lambda test: test.p)
    out, worst = [], 0.0
    for place, test in enumerate(tests):
        worst = max(worst, min(1.0, test.p * (len(tests) - place)))
        out.append(replace(test, corrected=worst))
    return tuple(out)


def _rate(success: np.ndarray) -> Rate:
    return Rate(int(success.sum()), len(success))


def _row(rate: Rate) -> list[int]:
    return [rate.successes, rate.trials - rate.successes]

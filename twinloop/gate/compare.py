"""Paired comparison of two policies on the same draws."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from twinloop.curate.intervals import wilson
from twinloop.curate.rates import Rate
from twinloop.errors import UsageError
from twinloop.gate.evaluation import Evaluation, Subject, rate_json


@dataclass(frozen=True)
class Comparison:
    """Paired comparison of two policies: in how many attempts both, one or neither succeeded.

    Attributes:
        p_value: McNemar's exact test, two-sided.
        faster_s: median lead of `ours` in attempts in which both succeeded; NaN if there is none.
    """

    ours: Subject
    theirs: Subject
    both: int
    only_ours: int
    only_theirs: int
    neither: int
    faster_s: float

    @property
    def trials(self) -> int:
        return self.both + self.only_ours + self.only_theirs + self.neither

    @property
    def our_success(self) -> Rate:
        return Rate(self.both + self.only_ours, self.trials)

    @property
    def their_success(self) -> Rate:
        return Rate(self.both + self.only_theirs, self.trials)

    @property
    def p_value(self) -> float:
        split = self.only_ours + self.only_theirs
        return min(1.0, 2 * float(scipy.special.bdtr(min(self.only_ours, self.only_theirs), split, 0.5)))

    @property
    def difference(self) -> float:
        """Success rate of `ours` minus that of `theirs`."""
        return (self.only_ours - self.only_theirs) / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of `difference`: Newcombe's score interval for paired proportions (Statistics in Medicine 17,
        1998, method 10)."""
        a, b, c, d = self.both, self.only_ours, self.only_theirs, self.neither
        n = self.trials
        first, second = (a + b) / n, (a + c) / n
        low, high = wilson([a + b, a + c], n)
        margins = (a + b) * (c + d) * (a + c) * (b + d)
        product = a * d - b * c
        corrected = max(product - n / 2, 0) if product > 0 else product
        phi = corrected / np.sqrt(float(margins)) if margins else 0.0
        down, up = first - low[0], high[1] - second
        less = np.sqrt(max(down**2 - 2 * phi * down * up + up**2, 0))
        down, up = high[0] - first, second - low[1]
        more = np.sqrt(max(down**2 - 2 * phi * down * up + up**2, 0))
        return float(self.difference - less), float(self.difference + more)

    def to_json(self) -> dict[str, Any]:
        return {
            "ours": self.ours.checkpoint,
            "theirs": self.theirs.checkpoint,
            "their_digest": self.theirs.checkpoint_digest,
            "both": self.both,
            "only_ours": self.only_ours,
            "only_theirs": self.only_theirs,
            "neither": self.neither,
            "our_success": rate_json(self.our_success),
            "their_success": rate_json(self.their_success),
            "difference": self.difference,
            "interval": self.interval,
            "p_value": self.p_value,
            "faster_s": None if np.isnan(self.faster_s) else self.faster_s,
        }


def compare(ours: Evaluation, theirs: Evaluation) -> Comparison:
    """Compare two evaluations on their common attempts, which must have the same draws."""
    for key in ("config_digest", "seed"):
        our_value, their_value = getattr(ours.subject, key), getattr(theirs.subject, key)
        if our_value != their_value:
            raise UsageError(
                f"{ours.subject.checkpoint} and {theirs.subject.checkpoint} were not evaluated on the same draws: "
                f"{key} is {_short(our_value)} in one and {_short(their_value)} in the other; evaluate both with the "
                "same config and seed"
            )
    engines = [_engine(evaluation.subject) for evaluation in (ours, theirs)]
    if engines[0] != engines[1]:
        raise UsageError(
            f"{ours.subject.checkpoint} and {theirs.subject.checkpoint} were not evaluated with the same engine: "
            f"{engines[0]} and {engines[1]}; evaluate both with the same --backend and --device"
        )
    _, ours_rows, theirs_rows = np.intersect1d(ours.outcomes.attempt, theirs.outcomes.attempt, return_indices=True)
    if not len(ours_rows):
        raise UsageError("the two evaluations have no attempt in common; evaluate both with the same --episodes")
    our_outcomes, their_outcomes = ours.outcomes.take(ours_rows), theirs.outcomes.take(theirs_rows)
    our_success, their_success = our_outcomes.success, their_outcomes.success
    saved = (their_outcomes.completion_s - our_outcomes.completion_s)[our_success & their_success]
    return Comparison(
        ours=ours.subject,
        theirs=theirs.subject,
        both=int((our_success & their_success).sum()),
        only_ours=int((our_success & ~their_success).sum()),
        only_theirs=int((~our_success & their_success).sum()),
        neither=int((~our_success & ~their_success).sum()),
        faster_s=float(np.median(saved)) if len(saved) else float("nan"),
    )


def _engine(subject: Subject) -> str:
    device = subject.versions.get("warp_device")
    return "mujoco" if device is None else f"mujoco_warp on {device}"


def _short(value: object) -> str:
    return f"{value[:12]}..." if isinstance(value, str) else str(value)

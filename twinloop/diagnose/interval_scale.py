"""Interval scale: how much wider the interval of a row must be than its posterior says.

`interval_scale.json` holds what `benchmarks/diagnosis_intervals.py` measured: estimates of rows in rehearsal cells of
both engines whose true values are known. The error of an estimate is the distance of the truth from it, as a multiple
of its interval's width on that side. An interval is multiplied by the 90 % quantile of the errors of its gap. A gap has
few measured rows, so the errors of all gaps count as some further rows of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from twinloop.diagnose.shipped import shipped_figures
from twinloop.randomize.parameter import GAPS, Gap

COVERED = 0.9
PRIOR_ROWS = 10.0
"""Weight of the errors of all gaps, in rows of a gap."""
MAX_ERROR = 10.0
"""Errors are cut here: the interval of a row that is named wrongly has no useful width."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class IntervalScale:
    """Gap -> factor by which intervals of its rows are widened, at least 1."""

    factors: Mapping[Gap, float]

    def widened(self, gap: Gap, value: float, interval: Interval, bounds: Interval) -> Interval:
        """The widened interval of the value of a row of a gap.

        Args:
            bounds: the least and the largest value that the row can have. A quantity that is never 0 is widened by
                ratios: a mass, or a scale.
        """
        factor, ratio = self.factors.get(gap, 1.0), bounds[0] > 0
        middle, low, high = np.log([value, *interval]) if ratio else np.array([value, *interval])
        ends = np.array([middle - factor * (middle - low), middle + factor * (high - middle)])
        low, high = np.clip(np.exp(ends) if ratio else ends, *bounds)
        # Rounding must not make an interval narrower.
        return min(float(low), interval[0]), max(float(high), interval[1])


UNSCALED = IntervalScale({})


def error_of(value: float, interval: Interval, true: float, bounds: Interval) -> float:
    """Distance of the truth from an estimate, as a multiple of the interval's width on that side."""
    if bounds[0] > 0:
        value, true = float(np.log(value)), float(np.log(max(true, bounds[0])))
        interval = float(np.log(interval[0])), float(np.log(interval[1]))
    width = interval[1] - value if true > value else value - interval[0]
    distance = abs(true - value)
    return min(distance / width, MAX_ERROR) if width > 0 else MAX_ERROR * (distance > 0)


def scale_of(rows: list[dict[str, Any]]) -> IntervalScale:
    """The scale for measured rows, each with its `gap` and `error`."""
    errors = np.array([row["error"] for row in rows])
    of_gap = np.array([row["gap"] for row in rows])
    return IntervalScale({gap: _factor(errors, of_gap == gap) for gap in GAPS})


def _factor(errors: np.ndarray, own: np.ndarray) -> float:
    """The weighted quantile of the errors, as in conformal prediction: the row to come may have the largest error.

    It has the weight of one row among the effective number of rows, so that a few rows of a gap with small errors do
    not make its interval wider.
    """
    if not len(errors):
        return 1.0
    weights = own + PRIOR_ROWS / len(errors)
    order = np.argsort(errors)
    effective = np.square(weights.sum()) / np.square(weights).sum()
    reached = np.cumsum(weights[order]) / (weights.sum() * (1 + 1 / effective))
    place = min(int(np.searchsorted(reached, COVERED)), len(errors) - 1)
    return max(float(errors[order][place]), 1.0)


@lru_cache(maxsize=1)
def interval_scale() -> IntervalScale:
    """The scale that is stored with the package."""
    return shipped_figures("interval_scale.json", "rows", scale_of)

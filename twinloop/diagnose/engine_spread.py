"""The spread between physics engines: how much the summary of one policy differs between simulators of one cell.

`engine_spread.json` holds what `benchmarks/engine_spread.py` measured: a policy in the twin, and in rehearsal cells of
other engines in which no gap is open. It has the differences of every entry of a summary. A difference of this size is
no evidence of a gap. Entries that were not measured have the spread of all entries, relative to the variation between
episodes. Forces and torques are compared as shares of the weight of the arm: an error of 3 N is small for an arm of 15
kg and large for one of half a kilogram. Cells of the same robot count more than those of others, because some traits
depend on how a robot is built, such as the finger opening.
"""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from twinloop.diagnose.shipped import shipped_figures
from twinloop.diagnose.summary import ENTRIES, EVENTS, LOGARITHMIC, NAMES, TraitSummary

PRIOR_CELLS = 2.0
"""Weight of the pooled relative spread, in cells."""
MORE_FREEDOM = 2.0
"""Degrees of freedom that the pooled spread adds to the number of cells."""
UNMEASURED_FREEDOM = 6.0
"""Degrees of freedom of entries that no cell has: only the pooled spread is known."""
OTHER_ROBOT = 0.2
"""Weight of a cell of another robot, if cells of the same robot were measured."""
_POWERS = {"N": 1.0, "N·m": 1.0, "mrad/(N·m)": -1.0}
FORCE_POWER = np.array(
    [0.0 if log else _POWERS.get(entry.about.unit, 0.0) for entry, log in zip(ENTRIES, LOGARITHMIC, strict=True)]
)
"""(entries,) power of the arm's weight with which the spread of an entry grows. Logarithms do not depend on it."""


@dataclass(frozen=True)
class EngineSpread:
    """Measured differences between engines.

    Attributes:
        squares: (entries,) sum of squared differences, without the sampling variance, for an arm of `arm_weight_n`.
        cells: (entries,) number of cells that have the entry. Cells of another robot count less in both.
        relative: typical difference as a share of the standard deviation between episodes.
        arm_weight_n: weight of the arm whose forces `squares` is for.
    """

    squares: np.ndarray
    cells: np.ndarray
    relative: float
    arm_weight_n: float = 1.0

    def variance(self, between: np.ndarray) -> np.ndarray:
        """(entries,) variance between engines, for a log with this standard deviation between episodes."""
        # An event that a log shows in some episodes varies between them, but engines do not differ in it.
        usual = np.where(EVENTS, 0.0, np.square(self.relative * np.nan_to_num(between, nan=1.0)))
        return (self.squares + PRIOR_CELLS * usual) / (self.cells + PRIOR_CELLS)

    def for_arm(self, weight_n: float) -> "EngineSpread":
        """The spread for an arm of another weight."""
        squares = self.squares * (weight_n / self.arm_weight_n) ** (2 * FORCE_POWER)
        return replace(self, squares=squares, arm_weight_n=weight_n)

    @property
    def freedom(self) -> np.ndarray:
        """(entries,) degrees of freedom of the variance.

        Few engines are known, so large differences are less surprising than in a normal distribution.
        """
        return np.where(self.cells > 0, self.cells + MORE_FREEDOM, UNMEASURED_FREEDOM)


def measured_difference(robot: TraitSummary, twin: TraitSummary) -> dict[str, dict[str, float]]:
    """Entry -> difference, sampling variance and standard deviation between episodes, where both have the entry."""
    both = np.isfinite(robot.values) & np.isfinite(twin.values)
    return {
        NAMES[place]: {
            "difference": float(robot.values[place] - twin.values[place]),
            "variance": float(robot.variances[place] + twin.variances[place]),
            "between": float(max(robot.between[place], twin.between[place])),
        }
        for place in np.flatnonzero(both)
    }


def spread_of(cells: list[dict[str, Any]], robot: str | None = None) -> EngineSpread:
    """The spread of some measured cells.

    Args:
        cells: each has `entries` as `measured_difference` returns them, `arm_weight_n`, the weight of its arm, and
            `robot`.
        robot: for which robot; None: every cell counts the same.
    """
    squares, counts, relative = np.zeros(len(NAMES)), np.zeros(len(NAMES)), []
    typical_n = float(np.median([cell["arm_weight_n"] for cell in cells])) if cells else 1.0
    known = any(cell.get("robot") == robot for cell in cells)
    for cell in cells:
        weight = OTHER_ROBOT if known and cell.get("robot") != robot else 1.0
        scales = (typical_n / cell["arm_weight_n"]) ** (2 * FORCE_POWER)
        for name, entry in cell["entries"].items():
            if name not in NAMES:
                continue
            place = NAMES.index(name)
            square = max(entry["difference"] ** 2 - entry["variance"], 0.0)
            squares[place] += weight * square * scales[place]
            counts[place] += weight
            if entry["between"] > 1e-9:
                relative.append(np.sqrt(square) / entry["between"])
    return EngineSpread(squares, counts, max(float(np.median(relative)) if relative else 1.0, 0.1), typical_n)


@lru_cache(maxsize=16)
def engine_spread(robot: str | None = None) -> EngineSpread:
    """The spread that is stored with the package, for a robot."""
    return shipped_figures("engine_spread.json", "cells", partial(spread_of, robot=robot))

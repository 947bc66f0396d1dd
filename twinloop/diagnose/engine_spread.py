"""The spread between physics engines: how much the summary of one policy differs between simulators of one cell.

`engine_spread.json` holds what `benchmarks/engine_spread.py` measured: a policy in the twin, and in rehearsal cells of
other engines in which no gap is open. It has the differences of every entry of a summary. A difference of this size is
no evidence of a gap. Entries that were not measured have the spread of all entries, relative to the variation between
episodes.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from twinloop.diagnose.shipped import shipped_figures
from twinloop.diagnose.summary import NAMES, TraitSummary

PRIOR_CELLS = 2.0
"""Weight of the pooled relative spread, in cells."""
MORE_FREEDOM = 2.0
"""Degrees of freedom that the pooled spread adds to the number of cells."""


@dataclass(frozen=True)
class EngineSpread:
    """Measured differences between engines.

    Attributes:
        squares: (entries,) sum of squared differences, without the sampling variance.
        cells: (entries,) number of cells that have the entry.
        relative: typical difference as a share of the standard deviation between episodes.
    """

    squares: np.ndarray
    cells: np.ndarray
    relative: float

    def variance(self, between: np.ndarray) -> np.ndarray:
        """(entries,) variance between engines, for a log with this standard deviation between episodes."""
        usual = np.square(self.relative * np.nan_to_num(between, nan=1.0))
        return (self.squares + PRIOR_CELLS * usual) / (self.cells + PRIOR_CELLS)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance: few engines are known, so large differences are less surprising."""
        measured = self.cells[self.cells > 0]
        return (float(np.median(measured)) if len(measured) else 0.0) + MORE_FREEDOM


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


def spread_of(cells: list[dict[str, Any]]) -> EngineSpread:
    """The spread of some measured cells; each has `entries` as `measured_difference` returns them."""
    squares, counts, relative = np.zeros(len(NAMES)), np.zeros(len(NAMES)), []
    for cell in cells:
        for name, entry in cell["entries"].items():
            if name not in NAMES:
                continue
            place = NAMES.index(name)
            square = max(entry["difference"] ** 2 - entry["variance"], 0.0)
            squares[place] += square
            counts[place] += 1
            if entry["between"] > 1e-9:
                relative.append(np.sqrt(square) / entry["between"])
    return EngineSpread(squares, counts, max(float(np.median(relative)) if relative else 1.0, 0.1))


@lru_cache(maxsize=1)
def engine_spread() -> EngineSpread:
    """The spread that is stored with the package."""
    return shipped_figures("engine_spread.json", "cells", spread_of)

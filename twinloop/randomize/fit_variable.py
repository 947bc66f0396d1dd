"""Fit variable: a number of the twin that calibration can fit, with unit, starting value and bounds."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FitVariable:
    """A fit variable.

    Attributes:
        log: search its logarithm, because only the order of magnitude is known in advance.
        reveals: the kind of motion that determines it, for the message when logs do not.
        row, row_scale: the row of the parameter table whose range it proposes: `row_scale` times the value.
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    reveals: str
    log: bool = False
    row: str = ""
    row_scale: float = 1.0

    def inward(self, value: np.ndarray) -> np.ndarray:
        """Scale a value to a place: 0 at the lower bound, 1 at the upper."""
        low, high = self._ends()
        return (self._warped(np.asarray(value, float)) - low) / (high - low)

    def outward(self, place: np.ndarray) -> np.ndarray:
        low, high = self._ends()
        warped = low + np.asarray(place, float) * (high - low)
        return np.exp(warped) if self.log else warped

    def _ends(self) -> tuple[float, float]:
        return float(self._warped(np.array(self.low))), float(self._warped(np.array(self.high)))

    def _warped(self, value: np.ndarray) -> np.ndarray:
        return np.log(value) if self.log else value

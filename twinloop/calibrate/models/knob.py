"""Knob: a number of the twin that logs may tell: its unit, a starting value, bounds, and what motion reveals it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Knob:
    """`log`: searched by its logarithm, since only its order of magnitude is known beforehand.
    `reveals`: the kind of motion that would tell it, for whoever asks for it in vain.
    `row`: the row of the parameter table whose range it proposes, if there is one; `row_scale` times the value."""

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
        """A value as the optimiser sees it: from 0 at the lower bound to 1 at the upper."""
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

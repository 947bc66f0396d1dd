"""Verdicts: may these episodes become training data, and if not, why not."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

ACCEPTED = "accepted"
FORGOTTEN = "forgotten"
"""Of an attempt whose participant wanted it gone: nothing else is left of it."""


@dataclass(frozen=True)
class Verdicts:
    """One verdict an episode.

    reasons: "accepted", or the name of the first check that failed.
    storable: (n,) bool; false where not even `--keep-rejected` may store the rows (a diverged simulation).
    measures: check name -> (n,) float64, the quantity the check compared with its limit.
    """

    reasons: tuple[str, ...]
    storable: np.ndarray
    measures: Mapping[str, np.ndarray]

    @property
    def accepted(self) -> np.ndarray:
        return np.array([reason == ACCEPTED for reason in self.reasons], dtype=bool)

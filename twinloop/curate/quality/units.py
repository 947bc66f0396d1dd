"""Factors between units that are easily confused."""

import numpy as np

DEGREES = 180 / np.pi
FACTORS = {"degrees for radians": DEGREES, "radians for degrees": 1 / DEGREES, "thousandths for units": 1000.0,
           "units for thousandths": 1e-3}  # fmt: skip
NEAR_TURN = 1.45
WEAKEST, STRONGEST = 0.1, 1.6
"""A soft servo moves a tenth of its command, so a smaller ratio still counts as the factor."""


def confusion(ratio: float) -> str:
    """The confusion of units that a ratio looks like, "" if none."""
    return next((name for name, factor in FACTORS.items() if WEAKEST < ratio / factor < STRONGEST), "")


def is_degrees_for_radians(factor: float) -> bool:
    """Whether a factor, or its inverse, is close to 57.3."""
    apart = max(factor, 1 / factor) / DEGREES
    return 1 / NEAR_TURN < apart < NEAR_TURN

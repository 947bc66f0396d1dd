"""Intention: whatever a policy says, as an action that could be meant, or None."""

import numpy as np

MAX_VALUE = 1e6
"""No joint is told to go a million radians; a number beyond is no better than an infinite one."""


def intended(action: object, count: int) -> np.ndarray | None:
    """(count,) numbers. None for another shape, for what is no number, not finite, or absurdly large."""
    try:
        values = np.asarray(action)
        if values.shape != (count,) or values.dtype.kind not in "fiuO":
            return None
        values = values.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if (np.abs(values) <= MAX_VALUE).all() else None

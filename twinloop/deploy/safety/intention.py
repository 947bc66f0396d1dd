"""Validation of a policy's output: an array of finite numbers, or None."""

import numpy as np

MAX_VALUE = 1e6
"""Largest valid absolute value. Larger values are treated as infinite: no joint moves a million radians."""


def intended(action: object, count: int) -> np.ndarray | None:
    """Return (count,) numbers, or None if the shape or type is wrong or a value is not finite or above MAX_VALUE."""
    try:
        values = np.asarray(action)
        if values.shape != (count,) or values.dtype.kind not in "fiuO":
            return None
        values = values.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if (np.abs(values) <= MAX_VALUE).all() else None

"""Effort limit: a joint whose measured effort is near its limit may not move further in the direction it pushes.

Position-controlled motors push harder the further they are from the commanded position. A joint near its effort limit
may therefore be commanded back only.
"""

import numpy as np

NEAR = 0.85
"""Share of the effort limit. On the rehearsal cells, the arm's measured effort is up to 0.7 of its limit at work."""


def eased(velocity: np.ndarray, effort: np.ndarray | None, limit: np.ndarray) -> np.ndarray:
    """Return the velocity without the part that would increase an effort near its limit. NaN counts as near."""
    if effort is None:
        return velocity
    # NaN compares false, so neither direction is safe.
    up_is_safe, down_is_safe = effort < NEAR * limit, effort > -NEAR * limit
    velocity = np.where(up_is_safe, velocity, np.minimum(velocity, 0))
    return np.where(down_is_safe, velocity, np.maximum(velocity, 0))

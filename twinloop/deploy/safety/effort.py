"""Effort: a joint that carries nearly all it may is not pushed further the way it pushes.

Motors that hold a commanded position push the harder the further they are from it. A joint whose measured effort is
close to its limit may be commanded back, not on.
"""

import numpy as np

NEAR = 0.85
"""Of its limit. Measured on the rehearsal cells, the arm carries up to 0.7 of it at work."""


def eased(velocity: np.ndarray, effort: np.ndarray | None, limit: np.ndarray) -> np.ndarray:
    """The velocity without what would add to a load that is near its limit. What is not a number counts as one."""
    if effort is None:
        return velocity
    # NaN compares false: then neither direction is safe.
    up_is_safe, down_is_safe = effort < NEAR * limit, effort > -NEAR * limit
    velocity = np.where(up_is_safe, velocity, np.minimum(velocity, 0))
    return np.where(down_is_safe, velocity, np.maximum(velocity, 0))

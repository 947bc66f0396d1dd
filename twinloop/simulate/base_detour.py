"""Detour of a tool around its own base.

The straight way between two places on different sides of a short arm leads over its first joint. There the joint has to
turn fast and the hand leans, and a thing turns in the grip. So the tool keeps a distance from the axis of that joint.
"""

import numpy as np

from twinloop.twin.area import Area

SHARE = 0.95
"""The tool keeps this share of the smallest distance at which the hand works."""


def around_base(velocity: np.ndarray, moved_m: np.ndarray, error_m: np.ndarray, area: Area) -> np.ndarray:
    """(n, 3) velocities that do not bring the tool nearer to its base than its area begins; their speed stays.

    Args:
        moved_m: (n, 3) the point that is moved.
        error_m: (n, 3) from there to the target. A target inside that distance is approached as it is.
    """
    keep_m = SHARE * area.nearest_m
    offset = moved_m[:, :2] - area.centre_m
    distance = np.sqrt(np.square(offset).sum(axis=1))
    target = offset + error_m[:, :2]
    rows = np.flatnonzero((distance < keep_m) & (np.square(target).sum(axis=1) > keep_m**2))
    if not len(rows):
        return velocity
    outwards = offset[rows] / np.maximum(distance[rows], 1e-6)[:, None]
    inward = np.maximum(-(velocity[rows, :2] * outwards).sum(axis=1), 0)
    across = np.stack([-outwards[:, 1], outwards[:, 0]], axis=1)
    side = np.where((across * error_m[rows, :2]).sum(axis=1) < 0, -1.0, 1.0)
    out = velocity.copy()
    out[rows, :2] += inward[:, None] * (outwards + side[:, None] * across)
    return out

"""Placing: moves things away from points that must stay free."""

import numpy as np


def pushed_away(place: np.ndarray, point: np.ndarray, clearance_m: float) -> np.ndarray:
    """(n, 2) places, moved straight away from (n, 2) points until the distance is at least `clearance_m`."""
    offset = place - point
    distance = np.sqrt(np.square(offset).sum(axis=1))
    missing = np.maximum(clearance_m - distance, 0)
    return place + offset / np.maximum(distance, 1e-6)[:, None] * missing[:, None]


def is_clear(place: np.ndarray, point: np.ndarray, clearance_m: float) -> np.ndarray:
    """(n,) whether the distance is at least `clearance_m`, with a tolerance for rounding."""
    return np.sqrt(np.square(place - point).sum(axis=1)) > clearance_m - 1e-6

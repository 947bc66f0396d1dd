"""Placing: things are pushed off places that must stay free."""

import numpy as np


def pushed_away(place: np.ndarray, point: np.ndarray, clearance_m: float) -> np.ndarray:
    """(n, 2) straight away from (n, 2) points, as far as the clearance asks."""
    offset = place - point
    distance = np.sqrt(np.square(offset).sum(axis=1))
    missing = np.maximum(clearance_m - distance, 0)
    return place + offset / np.maximum(distance, 1e-6)[:, None] * missing[:, None]


def is_clear(place: np.ndarray, point: np.ndarray, clearance_m: float) -> np.ndarray:
    """(n,) whether the push has left enough room; a hair less is enough."""
    return np.sqrt(np.square(place - point).sum(axis=1)) > clearance_m - 1e-6

"""Identifiability: which variables the logs determine, judged before the fit by sensor noise and after it by residuals.

A variable is determined if its posterior is much narrower than its bounds. One that hardly changes the measurements, or
that another variable can replace, is reported as unknown with the reason, and gets no value.
"""

import numpy as np

from twinloop.calibrate.objective import Objective
from twinloop.calibrate.patch import Unknown

KNOWN_STD = 0.2
"""A variable is unknown if its posterior's standard deviation exceeds this share of its bounds (uniform: 0.29)."""
FAINT = 1e-6


def unidentified(objective: Objective, information: np.ndarray) -> dict[str, Unknown]:
    """The variables that are not determined, with reasons, from the information matrix of their places.

    They are removed one at a time, the least determined first. So one of two interchangeable variables is kept.
    """
    names = objective.names
    left = list(range(len(names)))
    unknown: dict[str, Unknown] = {}
    while left:
        # A uniform prior over the bounds has a variance of 1/12.
        whole = information[np.ix_(left, left)] + 12 * np.eye(len(left))
        covariance = np.linalg.inv(whole)
        std = np.sqrt(np.diag(covariance))
        worst = int(np.argmax(std))
        if std[worst] <= KNOWN_STD:
            break
        likeness = np.abs(covariance[worst]) / (std[worst] * std)
        likeness[worst] = 0
        variable = objective.variables[left[worst]]
        if 1 / np.sqrt(whole[worst, worst]) > KNOWN_STD:
            reason = "changing it over its whole range hardly changes the simulated measurements"
        elif likeness.max(initial=0) > 0.5:
            reason = f"these logs cannot distinguish it from {names[left[int(np.argmax(likeness))]]}"
        else:
            reason = "these logs cannot distinguish it from a combination of others"
        unknown[variable.name] = Unknown(reason, variable.reveals)
        del left[worst]
    return unknown


def unidentifiable(objective: Objective, *, seed: int, points: int = 3) -> dict[str, Unknown]:
    """Variables that no fit could determine from these logs, even if sensor noise were the only error.

    Judged at several places, because a variable may have no effect where another is zero.
    """
    rng = np.random.default_rng(seed)
    start = objective.start
    objective.scale = noise_floors(objective)
    unknown: dict[str, Unknown] | None = None
    for point in range(points):
        place = start if point == 0 else np.clip(start + rng.uniform(-0.25, 0.25, len(start)), 0.02, 0.98)
        _, slope = objective.linearised(place)
        unknown_here = unidentified(objective, slope.T @ slope)
        unknown = (
            unknown_here if unknown is None else {name: why for name, why in unknown.items() if name in unknown_here}
        )
        if not unknown:
            break
    return unknown or {}


def noise_floors(objective: Objective) -> np.ndarray:
    """Sensor noise of each channel: the part of a frame that its neighbours do not share."""
    floors = []
    for channel in objective.bench.compared:
        rests = []
        for track in objective.plant.tracks:
            rows = track.measured[channel.name] / (1 if channel.of == "turn" else channel.scale)
            # Third differences contain noise and encoder steps, and almost nothing of smooth motion.
            rest = np.diff(rows, n=3, axis=0) / np.sqrt(20)
            rests.append(rest[np.isfinite(rest)])
        rest = np.concatenate(rests)
        spread = (
            float(np.sqrt(np.mean(np.square(rest[np.abs(rest) <= np.quantile(np.abs(rest), 0.9)])))) if len(rest) else 0
        )
        floors.append(max(np.rad2deg(spread) if channel.of == "turn" else spread, FAINT))
    return np.array(floors)

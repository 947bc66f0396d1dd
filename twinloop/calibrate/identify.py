"""Which knobs can these logs tell? Asked before the fit, of the sensors' own noise, and after it, of what was left.

A knob is known where the logs narrow it down well below its bounds. One that hardly changes what is measured, or
that another knob can stand in for, is not: it is named with the reason, and never told as a number.
"""

import numpy as np

from twinloop.calibrate.objective import Objective
from twinloop.calibrate.patch import Unknown

KNOWN_STD = 0.2
"""Of the width of its bounds: a knob whose posterior is wider than this is as good as unknown (0.29 is all of it)."""
FAINT = 1e-6


def unidentified(objective: Objective, information: np.ndarray) -> dict[str, Unknown]:
    """The knobs that are not known well enough to be told, and why, from the information about their places.

    One at a time, the least known first: of two that stand in for each other, the other is known once one is given.
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
        knob = objective.knobs[left[worst]]
        if 1 / np.sqrt(whole[worst, worst]) > KNOWN_STD:
            reason = "changing it over its whole range hardly changes what these logs measured"
        elif likeness.max(initial=0) > 0.5:
            reason = f"these logs cannot tell it from {names[left[int(np.argmax(likeness))]]}"
        else:
            reason = "these logs cannot tell it from several others together"
        unknown[knob.name] = Unknown(reason, knob.reveals)
        del left[worst]
    return unknown


def beforehand(objective: Objective, *, seed: int, points: int = 3) -> dict[str, Unknown]:
    """Knobs that no fit could find in these logs, were the twin perfect and the sensors all that errs.

    Looked at from several places, since a knob may be silent where another is zero: it is only given up if it is
    silent everywhere.
    """
    rng = np.random.default_rng(seed)
    start = objective.start
    objective.scale = noise_floors(objective)
    unknown: dict[str, Unknown] | None = None
    for point in range(points):
        place = start if point == 0 else np.clip(start + rng.uniform(-0.25, 0.25, len(start)), 0.02, 0.98)
        _, slope = objective.linearised(place)
        here = unidentified(objective, slope.T @ slope)
        unknown = here if unknown is None else {name: why for name, why in unknown.items() if name in here}
        if not unknown:
            break
    return unknown or {}


def noise_floors(objective: Objective) -> np.ndarray:
    """A channel -> what its sensor errs by from frame to frame: the part of it that no neighbour shares."""
    floors = []
    for channel in objective.bench.compared:
        rests = []
        for track in objective.plant.tracks:
            rows = track.measured[channel.name] / (1 if channel.of == "turn" else channel.scale)
            # Third differences see noise and steps of the encoder, and next to nothing of smooth motion.
            rest = np.diff(rows, n=3, axis=0) / np.sqrt(20)
            rests.append(rest[np.isfinite(rest)])
        rest = np.concatenate(rests)
        spread = (
            float(np.sqrt(np.mean(np.square(rest[np.abs(rest) <= np.quantile(np.abs(rest), 0.9)])))) if len(rest) else 0
        )
        floors.append(max(np.rad2deg(spread) if channel.of == "turn" else spread, FAINT))
    return np.array(floors)

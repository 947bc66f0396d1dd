"""Which knobs can these logs tell? Asked before the fit, of the sensors' own noise, and after it, of what was left.

A knob is known where the logs narrow it down well below its bounds. One that hardly changes what is measured, or
that another knob can stand in for, is not: it is named with the reason, and never told as a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.objective import Objective
from twinloop.calibrate.patch import Unknown

KNOWN_STD = 0.2
"""Of the width of its bounds: a knob whose posterior is wider than this is as good as unknown (0.29 is all of it)."""
FAINT = 1e-6


@dataclass(frozen=True)
class Sensitivity:
    """`std`: how well each knob could be known, in shares of its bounds. `alone`: if all others were known.
    `partner`: the knob it is most confused with."""

    names: tuple[str, ...]
    std: np.ndarray
    alone: np.ndarray
    partner: tuple[str, ...]


def sensitivity(names: Sequence[str], curve: np.ndarray) -> Sensitivity:
    """From the curvature of the log-likelihood in places (the Fisher information)."""
    many = len(names)
    # A uniform prior over the bounds has a variance of 1/12.
    whole = curve + 12 * np.eye(many)
    covariance = np.linalg.inv(whole)
    std = np.sqrt(np.diag(covariance))
    alone = 1 / np.sqrt(np.diag(whole))
    likeness = np.abs(covariance / np.outer(std, std)) - np.eye(many)
    partner = tuple(names[int(np.argmax(row))] if many > 1 and row.max() > 0.5 else "" for row in likeness)
    return Sensitivity(tuple(names), std, alone, partner)


def beforehand(objective: Objective, *, seed: int, points: int = 3) -> dict[str, Unknown]:
    """Knobs that no fit could find in these logs, were the twin perfect and the sensors all that errs.

    Looked at from several places, since a knob may be silent where another is zero: it is only given up if it is
    silent everywhere.
    """
    noise = noise_floors(objective)
    rng = np.random.default_rng(seed)
    start = objective.start
    best: Sensitivity | None = None
    for point in range(points):
        place = start if point == 0 else np.clip(start + rng.uniform(-0.25, 0.25, len(start)), 0.02, 0.98)
        objective.scale = noise.copy()
        slope = objective.jacobian(place, objective.residuals(place)[0])
        found = sensitivity(objective.names, slope.T @ slope)
        if best is None:
            best = found
        else:
            better = found.std < best.std
            best = Sensitivity(
                best.names,
                np.where(better, found.std, best.std),
                np.minimum(found.alone, best.alone),
                tuple(n if b else o for n, o, b in zip(found.partner, best.partner, better, strict=True)),
            )
    assert best is not None
    return unknown_of(objective, best)


def unknown_of(objective: Objective, found: Sensitivity) -> dict[str, Unknown]:
    """The knobs that are not known well enough to be told, and why."""
    unknown = {}
    for place, name in enumerate(found.names):
        if found.std[place] <= KNOWN_STD:
            continue
        knob = objective.knobs[place]
        if found.alone[place] > KNOWN_STD:
            reason = "changing it over its whole range hardly changes what these logs measured"
        else:
            reason = f"these logs cannot tell it from {found.partner[place] or 'other knobs'}"
        unknown[name] = Unknown(reason, knob.reveals)
    return unknown


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

"""Search: the whole box first, then downhill from the best of it, by batches of rollouts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.objective import Objective, robust_cost, robust_weight

DAMPINGS = (0.01, 0.1, 1.0, 10.0, 100.0)
PRIOR_WEIGHT = 0.1
"""A pull towards the bench's own values, of a tenth of a residual for the whole width of the bounds: it decides only
where the logs say nothing."""

PATIENCE = 3
"""Rounds without progress to speak of, until a block has found its place."""


@dataclass(frozen=True)
class Optimum:
    """`jacobian` and `residual` are those at `place`, in units of the objective's scale."""

    place: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    cost: float


def coarse(
    objective: Objective, *, seed: int, points: int, best: int, told: Callable[[int, int], None] | None = None
) -> list[np.ndarray]:
    """The `best` of Sobol points of the box, chosen for every block alone."""
    from scipy.stats import qmc

    start = objective.start
    sets = qmc.Sobol(len(start), rng=np.random.default_rng(seed)).random(points)
    # Half of them near the start: a bench file's values are somebody's guess, not noise.
    sets[::2] = np.clip(start + (sets[::2] - 0.5) * 0.4, 0, 1)
    raw = []
    for first in range(0, points, 16):
        raw.append(objective.raw(sets[first : first + 16]))
        if told is not None:
            told(min(first + 16, points), points)
    residuals = np.concatenate(raw)
    objective.rescale(residuals[0])
    scaled = residuals / objective.scale[objective.channel_of]
    found = [start.copy() for _ in range(best)]
    for block in objective.blocks:
        rows = objective.of_block(block)
        order = np.argsort(robust_cost(scaled[:, rows]))
        for rank in range(best):
            found[rank][block.knobs] = sets[order[rank], block.knobs]
    return found


def downhill(
    objective: Objective, place: np.ndarray, *, rounds: int, told: Callable[[int, int], None] | None = None
) -> Optimum:
    """Levenberg-Marquardt with bounds and robust weights; every round tries several dampings at once, and every
    block takes the one that suits it."""
    start = objective.start
    residual, jacobian = objective.linearised(place)
    damping = np.full(len(objective.blocks), 0.01)
    idle = np.zeros(len(objective.blocks), int)
    for turn in range(rounds):
        tried = np.repeat(place[None], len(DAMPINGS), axis=0)
        for number, block in enumerate(objective.blocks):
            rows, own = objective.of_block(block), block.knobs
            slope = jacobian[np.ix_(rows, own)]
            for index, factor in enumerate(DAMPINGS):
                tried[index, own] = _step(slope, residual[rows], place[own], start[own], factor * damping[number])
        outcome = objective.residuals(tried)
        next_place = place.copy()
        for number, block in enumerate(objective.blocks):
            rows, own = objective.of_block(block), block.knobs
            costs = robust_cost(outcome[:, rows]) + _prior(tried[:, own], start[own])
            now = robust_cost(residual[rows]) + _prior(place[own], start[own])
            best = int(np.argmin(costs))
            if costs[best] < now * (1 - 1e-4):
                next_place[own] = tried[best, own]
                idle[number] = 0 if costs[best] < now * (1 - 1e-3) else idle[number] + 1
                damping[number] = max(damping[number] * DAMPINGS[best], 1e-7)
            else:
                damping[number] = min(damping[number] * 100, 1e8)
                idle[number] += 1
        if (next_place != place).any():
            place = next_place
            residual, jacobian = objective.linearised(place)
        if told is not None:
            told(turn + 1, rounds)
        if (idle >= PATIENCE).all():
            break
    return Optimum(place, residual, jacobian, float(robust_cost(residual)))


def _prior(place: np.ndarray, start: np.ndarray) -> np.ndarray:
    return PRIOR_WEIGHT * np.square(place - start).sum(axis=-1)


def _step(slope: np.ndarray, residual: np.ndarray, place: np.ndarray, start: np.ndarray, damping: float) -> np.ndarray:
    """The damped Gauss-Newton step; knobs that it would push through a bound stay there and the others are solved
    for again."""
    weight = robust_weight(residual)[:, None]
    curve = (slope * weight).T @ slope + PRIOR_WEIGHT * np.eye(len(place))
    pull = (slope * weight).T @ residual + PRIOR_WEIGHT * (place - start)
    curve = curve + damping * np.diag(np.maximum(np.diag(curve), 1e-6 * np.diag(curve).max()))
    free = np.ones(len(place), bool)
    step = np.zeros(len(place))
    for _ in range(len(place)):
        step[:] = 0
        step[free] = -np.linalg.solve(curve[np.ix_(free, free)], pull[free])
        outside = free & (((place + step < 0) & (place <= 1e-9)) | ((place + step > 1) & (place >= 1 - 1e-9)))
        if not outside.any():
            break
        free &= ~outside
    return np.clip(place + step, 0, 1)

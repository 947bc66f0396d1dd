"""Search: the whole box first, then downhill from the best of it, by batches of rollouts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.objective import Objective, robust_cost, robust_weight

DAMPINGS = (0.01, 0.1, 1.0, 10.0, 100.0)
PATIENCE = 3
"""Rounds without progress to speak of, until a block has found its place."""


@dataclass(frozen=True)
class Optimum:
    """`jacobian` and `residual` are those at `place`, in units of the objective's scale. `cost` is that of the
    residuals and of how far the place is from the bench's own."""

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
                tried[index, own] = _step(
                    slope, residual[rows], place[own], start[own], objective.pull, factor * damping[number]
                )
        outcome = objective.residuals(tried)
        next_place = place.copy()
        for number, block in enumerate(objective.blocks):
            rows, own = objective.of_block(block), block.knobs
            costs = robust_cost(outcome[:, rows]) + objective.pulled(tried, own)
            now = robust_cost(residual[rows]) + objective.pulled(place, own)
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
    cost = robust_cost(residual) + objective.pulled(place, np.arange(len(place)))
    return Optimum(place, residual, jacobian, float(cost))


def _step(
    slope: np.ndarray, residual: np.ndarray, place: np.ndarray, start: np.ndarray, pull: float, damping: float
) -> np.ndarray:
    """The damped Gauss-Newton step; knobs that it would push through a bound stay there and the others are solved
    for again."""
    weight = robust_weight(residual)[:, None]
    curve = (slope * weight).T @ slope + pull * np.eye(len(place))
    downward = (slope * weight).T @ residual + pull * (place - start)
    curve = curve + damping * np.diag(np.maximum(np.diag(curve), 1e-6 * np.diag(curve).max()))
    free = np.ones(len(place), bool)
    step = np.zeros(len(place))
    for _ in range(len(place)):
        step[:] = 0
        step[free] = -np.linalg.solve(curve[np.ix_(free, free)], downward[free])
        outside = free & (((place + step < 0) & (place <= 1e-9)) | ((place + step > 1) & (place >= 1 - 1e-9)))
        if not outside.any():
            break
        free &= ~outside
    return np.clip(place + step, 0, 1)

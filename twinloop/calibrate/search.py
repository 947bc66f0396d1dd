"""Search: Sobol points of the whole box, then Levenberg-Marquardt from the best of them, in batches of simulations.

The solver is the project's own, because one batch of simulations holds several step lengths of all joints, and each
joint takes its own. Steps within the bounds are solved by `mujoco.mju_boxQP`. Other solvers, on the same fits with the
same Jacobian (benchmarks/least_squares.py, 2026-11-17):

- `scipy.optimize.least_squares` (trf, soft_l1) instead of `downhill` in whole calibrations: as accurate, and slower.
  Eight known truths: 72 of 72 values recovered by both, with 6,808 instead of 6,467 simulations and 22.6 instead of
  17.7 CPU s. XL330, each gain held out: mean error 0.0253 instead of 0.0262 rad, 10.3 instead of 6.6 CPU s per fit.
  SO-101, five logs, five held out: mean RMSE 0.836 instead of 0.827 %, 43.5 instead of 37.5 CPU s.
- `lm` of SciPy has no bounds and no robust loss. With both mapped into the residuals it takes 2 to 3 times the CPU
  time.
- `mujoco.minimize`, the solver of `mujoco.sysid`, simulates one step length at a time. On four SO-101 logs it reaches
  costs that are 1 to 3 % lower, in 4.5 times the CPU time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.calibrate.objective import Objective, robust_cost, robust_weight

DAMPINGS = (0.01, 0.1, 1.0, 10.0, 100.0)
PATIENCE = 3
"""A block has converged after this many rounds with less than 0.1 % progress."""


@dataclass(frozen=True)
class Optimum:
    """The end of a search. `residual` and `jacobian` are those at `place`, in units of the objective's scale. `cost` is
    the robust cost of the residuals plus the prior's."""

    place: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    cost: float


def coarse(
    objective: Objective, *, seed: int, points: int, best: int, on_progress: Callable[[int, int], None] | None = None
) -> list[np.ndarray]:
    """The `best` Sobol points of the box, chosen for each block separately."""
    from scipy.stats import qmc

    start = objective.start
    sets = qmc.Sobol(len(start), rng=np.random.default_rng(seed)).random(points)
    # Half of them are near the start: the values of the bench file are an informed guess.
    sets[::2] = np.clip(start + (sets[::2] - 0.5) * 0.4, 0, 1)
    raw = []
    for first in range(0, points, 16):
        raw.append(objective.raw(sets[first : first + 16]))
        if on_progress is not None:
            on_progress(min(first + 16, points), points)
    residuals = np.concatenate(raw)
    objective.rescale(residuals[0])
    scaled = residuals / objective.scale[objective.channel_of]
    starts = [start.copy() for _ in range(best)]
    for block in objective.blocks:
        rows = objective.of_block(block)
        order = np.argsort(robust_cost(scaled[:, rows]))
        for rank in range(best):
            starts[rank][block.variables] = sets[order[rank], block.variables]
    return starts


def downhill(
    objective: Objective, place: np.ndarray, *, rounds: int, on_progress: Callable[[int, int], None] | None = None
) -> Optimum:
    """Levenberg-Marquardt with bounds and robust weights. Each round tries several dampings in one batch, and each
    block takes the one with the least cost."""
    start = objective.start
    residual, jacobian = objective.linearised(place)
    damping = np.full(len(objective.blocks), 0.01)
    idle = np.zeros(len(objective.blocks), int)
    for turn in range(rounds):
        candidates = np.repeat(place[None], len(DAMPINGS), axis=0)
        for number, block in enumerate(objective.blocks):
            rows, own = objective.of_block(block), block.variables
            slope = jacobian[np.ix_(rows, own)]
            for index, factor in enumerate(DAMPINGS):
                candidates[index, own] = _step(
                    slope, residual[rows], place[own], start[own], objective.prior_weight, factor * damping[number]
                )
        outcome = objective.residuals(candidates)
        next_place = place.copy()
        for number, block in enumerate(objective.blocks):
            rows, own = objective.of_block(block), block.variables
            costs = robust_cost(outcome[:, rows]) + objective.prior_cost(candidates, own)
            now = robust_cost(residual[rows]) + objective.prior_cost(place, own)
            best = int(np.argmin(costs))
            if costs[best] < now * (1 - 1e-4):
                next_place[own] = candidates[best, own]
                idle[number] = 0 if costs[best] < now * (1 - 1e-3) else idle[number] + 1
                damping[number] = max(damping[number] * DAMPINGS[best], 1e-7)
            else:
                damping[number] = min(damping[number] * 100, 1e8)
                idle[number] += 1
        if (next_place != place).any():
            place = next_place
            residual, jacobian = objective.linearised(place)
        if on_progress is not None:
            on_progress(turn + 1, rounds)
        if (idle >= PATIENCE).all():
            break
    cost = robust_cost(residual) + objective.prior_cost(place, np.arange(len(place)))
    return Optimum(place, residual, jacobian, float(cost))


def _step(
    slope: np.ndarray, residual: np.ndarray, place: np.ndarray, start: np.ndarray, prior_weight: float, damping: float
) -> np.ndarray:
    """The damped Gauss-Newton step within the bounds."""
    weight = robust_weight(residual)[:, None]
    curve = (slope * weight).T @ slope + prior_weight * np.eye(len(place))
    downward = (slope * weight).T @ residual + prior_weight * (place - start)
    curve = curve + damping * np.diag(np.maximum(np.diag(curve), 1e-6 * np.diag(curve).max()))
    size = len(place)
    step, factor, free = np.zeros(size), np.zeros((size, size + 7)), np.zeros(size, np.int32)
    mujoco.mju_boxQP(step, factor, free, curve, downward, -place, 1 - place)
    return np.clip(place + step, 0, 1)

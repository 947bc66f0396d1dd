"""Profile likelihood: how far a variable can move before the cost rises too much, while the others are fitted again.

The curvature at the optimum gives the width of a smooth valley. Backlash, dry friction and delay make the cost rough:
steep at the optimum, and as low again further on. So each variable is moved away from its optimum to both sides while
the others follow. Its interval reaches to the outermost value whose cost is acceptable. Profiles only widen intervals.
"""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.calibrate.band import TAIL
from twinloop.calibrate.objective import Block, Objective, robust_cost, robust_weight
from twinloop.calibrate.posterior import PRIOR, Posterior
from twinloop.calibrate.search import Optimum

STRIDES = (0.8, 1.3, 2.2, 4.0, 8.0)
"""Evaluated places to either side, in half widths of the interval from the curvature."""
FURTHER = 5.0
"""If even the last stride is acceptable, the strides are repeated with this factor."""
EASINGS = 2
"""Gauss-Newton steps of the other variables, with the slopes at the optimum and Broyden updates."""
LOWER = 0.25
"""A profile whose cost is lower than the optimum by this share of an interval's cost has found a better optimum."""


@dataclass(frozen=True)
class Walk:
    """Profiles of all variables: (variables, strides) cost above the optimum, as a share of the cost at an interval's
    end, and (variables, strides, all variables) places."""

    excess: np.ndarray
    places: np.ndarray

    @property
    def better(self) -> bool:
        return bool((self.excess < -LOWER).any())


def profiled(objective: Objective, optimum: Optimum, posterior: Posterior) -> tuple[Posterior, np.ndarray | None]:
    """The posterior, widened by profiles, and a better place to search from, if a profile found one."""
    walk = _walk(objective, optimum, posterior, 1.0)
    if not walk.better and _borne(walk)[:, [0, -1]].any():
        far = _walk(objective, optimum, posterior, FURTHER)
        walk = Walk(np.hstack([walk.excess, far.excess]), np.hstack([walk.places, far.places]))
    return widened(posterior, walk), _best_met(objective, optimum, walk) if walk.better else None


def _walk(objective: Objective, optimum: Optimum, posterior: Posterior, longer: float) -> Walk:
    best, covariance = posterior.place, posterior.covariance
    strides = TAIL * longer * np.array([-stride for stride in reversed(STRIDES)] + list(STRIDES))
    widest, wide = max(len(block.variables) for block in objective.blocks), len(strides)
    sets = np.repeat(best[None], widest * wide, axis=0)
    fixed = np.full((len(sets), len(objective.blocks)), -1)
    for number, block in enumerate(objective.blocks):
        for row, variable in enumerate(block.variables):
            own = slice(row * wide, (row + 1) * wide)
            std = np.sqrt(covariance[variable, variable])
            at = np.clip(best[variable] + strides * std, 0, 1)
            follow = covariance[block.variables, variable] / covariance[variable, variable]
            sets[own, block.variables] = np.clip(best[block.variables] + (at - best[variable])[:, None] * follow, 0, 1)
            fixed[own, number] = variable
    residual = objective.residuals(sets)
    for _ in range(EASINGS):
        moved = sets.copy()
        for number, block in enumerate(objective.blocks):
            rows = objective.of_block(block)
            for place in np.flatnonzero(fixed[:, number] >= 0):
                eased = _eased(block, optimum, rows, sets[place], residual[place], int(fixed[place, number]))
                moved[place, block.variables] = eased
        outcome = objective.residuals(moved)
        for block in objective.blocks:
            rows = objective.of_block(block)
            lower = np.flatnonzero(robust_cost(outcome[:, rows]) < robust_cost(residual[:, rows]))
            sets[np.ix_(lower, block.variables)] = moved[np.ix_(lower, block.variables)]
            residual[np.ix_(lower, rows)] = outcome[np.ix_(lower, rows)]
    excess = np.full((len(best), wide), np.inf)
    places = np.repeat(np.repeat(best[None, None], wide, axis=1), len(best), axis=0)
    for block in objective.blocks:
        rows = objective.of_block(block)
        cost = robust_cost(residual[:, rows]) - robust_cost(optimum.residual[rows])
        cost += objective.prior_cost(sets, block.variables) - objective.prior_cost(best, block.variables)
        for row, variable in enumerate(block.variables):
            own = slice(row * wide, (row + 1) * wide)
            excess[variable] = cost[own] / (TAIL**2 * posterior.temper[variable])
            places[variable][:, block.variables] = sets[own][:, block.variables]
    return Walk(excess, places)


def _eased(
    block: Block, optimum: Optimum, rows: np.ndarray, place: np.ndarray, residual: np.ndarray, fixed: int
) -> np.ndarray:
    """The block's variables after a Gauss-Newton step of all but the fixed one."""
    own = block.variables
    slope, step = optimum.jacobian[np.ix_(rows, own)], place[own] - optimum.place[own]
    length = float(step @ step)
    if length > 0:
        # Broyden update: the slopes of the optimum, corrected along the way to this place.
        missed = residual[rows] - optimum.residual[rows] - slope @ step
        slope = slope + np.outer(missed, step) / length
    free = own != fixed
    weight = robust_weight(residual[rows])[:, None]
    curve = (slope * weight)[:, free].T @ slope[:, free]
    curve[np.diag_indices(len(curve))] += 1e-3 * np.diag(curve) + 1e-9
    eased = place[own].copy()
    if free.any():
        eased[free] -= np.linalg.solve(curve, (slope * weight)[:, free].T @ residual[rows])
    return np.clip(eased, 0, 1)


def _borne(walk: Walk) -> np.ndarray:
    """Strides with an acceptable cost that are not at a bound."""
    at = np.stack([walk.places[variable, :, variable] for variable in range(len(walk.places))])
    inside = (at > 0) & (at < 1)
    return (walk.excess <= 1) & inside


def _best_met(objective: Objective, optimum: Optimum, walk: Walk) -> np.ndarray:
    place = optimum.place.copy()
    for block in objective.blocks:
        of_block = walk.excess[block.variables]
        row, stride = np.unravel_index(int(np.argmin(of_block)), of_block.shape)
        if of_block[row, stride] < 0:
            place[block.variables] = walk.places[block.variables[row], stride, block.variables]
    return place


def widened(posterior: Posterior, walk: Walk) -> Posterior:
    """The posterior, widened to where the profiles are acceptable. The covariance grows along the way of the other
    variables too, so that draws stay in the valley."""
    best, covariance = posterior.place, posterior.covariance.copy()
    low, high = posterior.low.copy(), posterior.high.copy()
    downs = np.stack([_end(posterior, walk, variable, -1) for variable in range(len(best))])
    ups = np.stack([_end(posterior, walk, variable, 1) for variable in range(len(best))])
    reach = np.diag(ups - downs) / 2
    for variable in np.argsort(-reach / np.sqrt(np.diag(covariance))):
        low[variable], high[variable] = (
            min(low[variable], downs[variable, variable]),
            max(high[variable], ups[variable, variable]),
        )
        short = (reach[variable] / TAIL) ** 2 - covariance[variable, variable]
        if short > 0:
            chord = (ups[variable] - downs[variable]) / (2 * reach[variable])
            covariance += short * np.outer(chord, chord)
    information = np.linalg.inv(covariance) - PRIOR * np.eye(len(best))
    half = TAIL * np.sqrt(np.diag(covariance))
    low, high = np.minimum(low, best - half), np.maximum(high, best + half)
    return replace(posterior, covariance=covariance, information=information, low=low, high=high)


def _end(posterior: Posterior, walk: Walk, variable: int, side: int) -> np.ndarray:
    """The outermost acceptable place on this side, interpolated between strides."""
    best = posterior.place
    at = walk.places[variable, :, variable]
    order = np.argsort(side * (at - best[variable]), kind="stable")
    order = order[side * (at[order] - best[variable]) > 0]
    excess, places = (
        np.concatenate([[0.0], walk.excess[variable, order]]),
        np.vstack([best, walk.places[variable, order]]),
    )
    last = int(np.flatnonzero(excess <= 1)[-1])
    if last + 1 == len(excess):
        return places[last]
    # The root of a parabola is linear.
    inner, outer = np.sqrt(max(excess[last], 0)), np.sqrt(excess[last + 1])
    share = (1 - inner) / (outer - inner) if np.isfinite(outer) else 0.0
    return places[last] + share * (places[last + 1] - places[last])

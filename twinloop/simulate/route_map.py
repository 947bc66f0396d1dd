"""RouteMap: the shortest way to the goal from every place of a room, by Dijkstra's algorithm on a grid.

Ways near obstacles cost more, so that routes keep a distance where there is room.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.twin.wheels.floor_plan import FloorPlan, clearance_m

CELL_M = 0.1
MARGIN_M = 0.1
"""Least gap between the robot and obstacles on a route."""
COMFORT_M, DISCOMFORT = 0.3, 3.0
"""Below this gap a way costs more: the additional cost of a metre without any gap, in metres."""
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True)
class RouteMap:
    """The grid of one room.

    Attributes:
        shape: cells in x and y.
        corner_m: (2,) place of the corner of the first cell.
        clearance_m: (x, y) distance of the middles of cells from the nearest obstacle.
        cost_m: (x, y) cost of the way to the goal; infinite where there is none.
        following: (x, y) number of the next cell on the way, counted in rows of y; its own at the goal.
    """

    shape: tuple[int, int]
    corner_m: np.ndarray
    clearance_m: np.ndarray
    cost_m: np.ndarray
    following: np.ndarray

    def cells(self, points_m: np.ndarray) -> np.ndarray:
        """(..., 2) indices of the cells of points."""
        return np.clip(((points_m - self.corner_m) / CELL_M).astype(int), 0, np.array(self.shape) - 1)


def route_map(plan: FloorPlan, *, radius_m: float) -> RouteMap:
    """The routes of a round robot to the goal of a floor plan."""
    shape = tuple(np.ceil(plan.size_m / CELL_M).astype(int).tolist())
    corner = -plan.size_m / 2
    x, y = (corner[axis] + CELL_M * (np.arange(shape[axis]) + 0.5) for axis in (0, 1))
    middles = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    clearance = clearance_m(middles, plan.boxes)
    gap = clearance - radius_m
    weight = 1 + DISCOMFORT * np.clip(1 - gap / COMFORT_M, 0, 1)
    passable = gap > MARGIN_M
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    goal = np.clip(((plan.goal_m - corner) / CELL_M).astype(int), 0, np.array(shape) - 1)
    graph = _graph(number, passable, weight)
    cost, before = scipy.sparse.csgraph.dijkstra(
        graph, directed=False, indices=int(number[tuple(goal)]), return_predecessors=True
    )
    following = np.where(before < 0, number.ravel(), before)
    return RouteMap(shape, corner, clearance, cost.reshape(shape), following.reshape(shape))


def _graph(number: np.ndarray, passable: np.ndarray, weight: np.ndarray) -> "scipy.sparse.csr_array":
    starts, ends, costs = [], [], []
    for dx, dy in NEIGHBOURS:
        one = (slice(None, -dx or None), slice(max(-dy, 0), -dy if dy > 0 else None))
        other = (slice(dx, None), slice(max(dy, 0), dy if dy < 0 else None))
        both = passable[one] & passable[other]
        starts.append(number[one][both])
        ends.append(number[other][both])
        costs.append(CELL_M * np.hypot(dx, dy) * (weight[one][both] + weight[other][both]) / 2)
    places = (np.concatenate(starts), np.concatenate(ends))
    return scipy.sparse.csr_array((np.concatenate(costs), places), shape=(number.size, number.size))

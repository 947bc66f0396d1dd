"""FloorPlan: what stands in a room, as plane geometry. Physics, lidar and planner use the same numbers."""

from dataclasses import dataclass

import numpy as np

MOST_FURNITURE, MOST_PEOPLE, WALLS = 10, 4, 4
MOST_BOXES = WALLS + MOST_FURNITURE
WALL_M = 0.1
"""Thickness of walls."""
PERSON_RADIUS_M = 0.25
FAR_M = 1000.0
"""Where boxes and people are that a room does not have."""


@dataclass(frozen=True)
class FloorPlan:
    """One room. Its middle is the origin.

    Attributes:
        size_m: (2,) inner size.
        boxes: (MOST_BOXES, 5) x, y, half length, half width in m and yaw in rad of walls and furniture. Absent ones
            are far away.
        start: (3,) x, y, yaw of the robot when the episode begins.
        goal_m: (2,).
        ways_m: (MOST_PEOPLE, 2, 2) the two ends of the way that each person walks to and fro.
        walked_share: (MOST_PEOPLE,) share of the way that a person has walked when the episode begins.
        free: there is a way from start to goal.
    """

    size_m: np.ndarray
    boxes: np.ndarray
    start: np.ndarray
    goal_m: np.ndarray
    ways_m: np.ndarray
    walked_share: np.ndarray
    free: bool = True

    @property
    def people(self) -> int:
        return int((self.ways_m[:, 0, 0] < FAR_M / 2).sum())


def walls(size_m: np.ndarray) -> np.ndarray:
    """(4, 5) boxes around a room of this inner size."""
    (x, y), half = np.asarray(size_m) / 2, WALL_M / 2
    return np.array([
        [x + half, 0, half, y + WALL_M, 0], [-x - half, 0, half, y + WALL_M, 0],
        [0, y + half, x + WALL_M, half, 0], [0, -y - half, x + WALL_M, half, 0],
    ])  # fmt: skip


def absent(count: int) -> np.ndarray:
    """(count, 5) boxes that are not there."""
    boxes = np.zeros((count, 5))
    boxes[:, 0], boxes[:, 2:4] = FAR_M, 0.1
    return boxes


def box_distance_m(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(..., boxes) distance of (..., 2) points from the surface of (..., boxes, 5) boxes; negative inside."""
    apart = points[..., None, :] - boxes[..., :2]
    cos, sin = np.cos(boxes[..., 4]), np.sin(boxes[..., 4])
    x = np.abs(cos * apart[..., 0] + sin * apart[..., 1]) - boxes[..., 2]
    y = np.abs(-sin * apart[..., 0] + cos * apart[..., 1]) - boxes[..., 3]
    outside = np.hypot(np.maximum(x, 0), np.maximum(y, 0))
    return outside + np.minimum(np.maximum(x, y), 0)


def clearance_m(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """(...) distance of points from the nearest box."""
    return box_distance_m(points, boxes).min(axis=-1)


def cast_rays(
    origin: np.ndarray, angle_rad: np.ndarray, boxes: np.ndarray, circles: np.ndarray, radius_m: float, most_m: float
) -> np.ndarray:
    """(n, rays) distance to the nearest surface, `most_m` at most.

    Args:
        origin: (n, 2). angle_rad: (n, rays) in the world.
        boxes: (n, boxes, 5). circles: (n, circles, 2) middles of circles of this radius.
    """
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    nearest = np.full(angle_rad.shape, float(most_m))
    # One obstacle at a time: the arrays stay in the cache, and each ray takes the nearest hit.
    for box in np.moveaxis(boxes, 1, 0):
        near = np.abs(box[:, :2] - origin).max(axis=1) < most_m + box[:, 2:4].sum(axis=1)
        if not near.any():
            continue
        c, s = np.cos(box[near, 4])[:, None], np.sin(box[near, 4])[:, None]
        x0, y0 = (origin[near] - box[near, :2]).T[..., None]
        x, y = c * x0 + s * y0, -s * x0 + c * y0
        dx, dy = c * cos[near] + s * sin[near], -s * cos[near] + c * sin[near]
        with np.errstate(divide="ignore", invalid="ignore"):
            x_enter, x_leave = _slab(x, dx, box[near, 2][:, None])
            y_enter, y_leave = _slab(y, dy, box[near, 3][:, None])
        enter, leave = np.maximum(x_enter, y_enter), np.minimum(x_leave, y_leave)
        hit = (enter <= leave) & (leave >= 0)
        nearest[near] = np.where(hit, np.minimum(nearest[near], np.maximum(enter, 0)), nearest[near])
    for circle in np.moveaxis(circles, 1, 0):
        near = np.abs(circle - origin).max(axis=1) < most_m + radius_m
        if not near.any():
            continue
        x, y = (circle[near] - origin[near]).T[..., None]
        along = x * cos[near] + y * sin[near]
        square = radius_m**2 - (x * x + y * y - along * along)
        enter = along - np.sqrt(np.maximum(square, 0))
        hit = (square >= 0) & (along + np.sqrt(np.maximum(square, 0)) >= 0)
        nearest[near] = np.where(hit, np.minimum(nearest[near], np.maximum(enter, 0)), nearest[near])
    return nearest


def _slab(place: np.ndarray, direction: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances at which rays enter and leave the slab |place| <= half."""
    one, other = (-half - place) / direction, (half - place) / direction
    parallel = direction == 0
    inside = np.abs(place) <= half
    never = np.where(inside, -np.inf, np.inf)
    return (
        np.where(parallel, never, np.minimum(one, other)),
        np.where(parallel, -never, np.maximum(one, other)),
    )

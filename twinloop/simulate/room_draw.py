"""room_draw: the room of an episode, from its drawn values and a generator of its own."""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.route_map import MARGIN_M, RouteMap, route_map
from twinloop.twin.wheels.floor_plan import (
    FAR_M,
    MOST_FURNITURE,
    MOST_PEOPLE,
    PERSON_RADIUS_M,
    FloorPlan,
    absent,
    box_distance_m,
    clearance_m,
    walls,
)

TRIES = 40
LONG_M, WIDE_M = (0.4, 1.6), (0.35, 0.9)
"""Sizes of pieces of furniture."""
AT_WALL_SHARE = 0.4
FREE_GAP_M = 0.15
"""Least gap between the robot and obstacles at its start and at its goal."""
APART_SHARE = 0.5
"""Least distance of start and goal, as a share of the room's diagonal, if there is such a pair."""
WAY_M, FROM_ROBOT_M, FROM_GOAL_M = 1.5, 1.2, 0.8
"""Least length of a way, distance from the robot when an episode begins, and distance of ways from the goal."""


@dataclass(frozen=True)
class FixedPlan:
    """The parts of a room that a config gives instead of drawing them.

    Attributes:
        furniture: (x, y, length, width, yaw in rad) of each piece; None draws them.
        start: x, y, yaw in rad. goal_m: x, y.
    """

    furniture: tuple[tuple[float, ...], ...] | None = None
    start: tuple[float, ...] | None = None
    goal_m: tuple[float, ...] | None = None


def draw_room(
    draws: Draws, row: int, *, seed: int, radius_m: float, fixed: FixedPlan = FixedPlan()  # noqa: B008
) -> tuple[FloorPlan, RouteMap]:  # fmt: skip
    """The room of episode `row` of `draws` for a round robot, and the routes to its goal."""
    value = {name: float(draws.values[name][row]) for name in (
        "room_size_m.x", "room_size_m.y", "furniture_count", "passage_m", "people_count",
    )}  # fmt: skip
    rng = episode_rng(seed, int(draws.attempts[row]), stream="room")
    size = np.array([value["room_size_m.x"], value["room_size_m.y"]])
    keep_clear = np.array([place[:2] for place in (fixed.start, fixed.goal_m) if place is not None]).reshape(-1, 2)
    boxes = walls(size)
    if fixed.furniture is None:
        count = min(int(value["furniture_count"]), MOST_FURNITURE)
        boxes = _furnished(boxes, size, count, value["passage_m"], keep_clear, radius_m, rng)
    else:
        boxes = np.vstack([boxes, *(_box(piece) for piece in fixed.furniture)])
    start, goal = _ends(boxes, size, radius_m, rng)
    if fixed.start is not None:
        start = np.array(fixed.start)
    if fixed.goal_m is not None:
        goal = np.array(fixed.goal_m)
    ways = _ways(boxes, size, min(int(value["people_count"]), MOST_PEOPLE), start[:2], goal, rng)
    boxes = np.vstack([boxes, absent(len(walls(size)) + MOST_FURNITURE - len(boxes))])
    plan = FloorPlan(size, boxes, start, goal, ways[0], ways[1])
    routes = route_map(plan, radius_m=radius_m)
    ends_free = clearance_m(np.array([start[:2], goal]), boxes).min() > radius_m + MARGIN_M
    free = bool(ends_free and np.isfinite(routes.cost_m[tuple(routes.cells(start[:2]))]))
    return replace(plan, free=free), routes


def _box(piece: tuple[float, ...]) -> np.ndarray:
    x, y, length, width, yaw = piece
    return np.array([[x, y, length / 2, width / 2, yaw]])


def _furnished(
    boxes: np.ndarray, size: np.ndarray, count: int, passage_m: float, keep_clear: np.ndarray, radius_m: float,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Walls and up to `count` pieces: at a wall, or with a passage to everything else. Pieces that do not fit are left
    out."""
    for _ in range(count):
        for _ in range(TRIES):
            piece, wall = _piece(size, rng)
            edge = _edge(piece)
            others = np.delete(boxes, wall, axis=0) if wall is not None else boxes
            if clearance_m(edge, others).min() < passage_m:
                continue
            if len(keep_clear) and box_distance_m(keep_clear, piece[None]).min() < radius_m + FREE_GAP_M:
                continue
            boxes = np.vstack([boxes, piece])
            break
    return boxes


def _piece(size: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int | None]:
    """A box, and the number of the wall that it stands at."""
    half = np.array([rng.uniform(*LONG_M), rng.uniform(*WIDE_M)]) / 2
    at_wall, wall = rng.random() < AT_WALL_SHARE, int(rng.integers(4))
    along, yaw = rng.uniform(-1, 1, 2), rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)])
    if not at_wall:
        return np.array([*(along * size / 2), *half, yaw]), None
    axis, side = wall // 2, 1 - 2 * (wall % 2)
    half = half if axis else half[::-1]
    middle = along * size / 2
    middle[axis] = side * (size[axis] / 2 - half[axis])
    return np.array([*middle, *half, 0.0]), wall


def _edge(piece: np.ndarray) -> np.ndarray:
    """(n, 2) points on the edge of a box."""
    share = np.linspace(-1, 1, 9)
    unit = np.concatenate([np.column_stack([share, side + 0 * share]) for side in (-1, 1)])
    unit = np.concatenate([unit, unit[:, ::-1]]) * piece[2:4]
    cos, sin = np.cos(piece[4]), np.sin(piece[4])
    return piece[:2] + np.column_stack([cos * unit[:, 0] - sin * unit[:, 1], sin * unit[:, 0] + cos * unit[:, 1]])


def _ends(
    boxes: np.ndarray, size: np.ndarray, radius_m: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Start and goal: the first free pair that is far apart, else the pair that is furthest apart."""
    points = rng.uniform(-0.5, 0.5, (2, TRIES, 2)) * size
    yaw = rng.uniform(-np.pi, np.pi)
    gap = clearance_m(points, boxes) - radius_m
    apart = np.linalg.norm(points[0] - points[1], axis=1)
    good = (gap > FREE_GAP_M).all(axis=0)
    far = good & (apart > APART_SHARE * np.linalg.norm(size))
    pair = int(np.argmax(far)) if far.any() else int(np.argmax(np.where(good, apart, gap.min(axis=0) - 10)))
    return np.array([*points[0, pair], yaw]), points[1, pair]


def _ways(
    boxes: np.ndarray, size: np.ndarray, people: int, start_m: np.ndarray, goal_m: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Straight ways between furniture, and where on them people are. Those that do not fit are left out."""
    ways, walked = np.full((MOST_PEOPLE, 2, 2), FAR_M), np.zeros(MOST_PEOPLE)
    ways[:, 1, 0] += WAY_M
    for person in range(people):
        ends = rng.uniform(-0.5, 0.5, (TRIES, 2, 2)) * size
        share = rng.random(TRIES)
        step = np.linspace(0, 1, 17)[:, None]
        points = ends[:, :1] + step * (ends[:, 1:] - ends[:, :1])
        free = clearance_m(points, boxes).min(axis=1) > PERSON_RADIUS_M + 0.05
        place = ends[:, 0] + share[:, None] * (ends[:, 1] - ends[:, 0])
        free &= np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > WAY_M
        free &= np.linalg.norm(place - start_m, axis=1) > FROM_ROBOT_M
        free &= np.linalg.norm(points - goal_m, axis=2).min(axis=1) > FROM_GOAL_M
        if free.any():
            chosen = int(np.argmax(free))
            ways[person], walked[person] = ends[chosen], share[chosen]
    return ways, walked

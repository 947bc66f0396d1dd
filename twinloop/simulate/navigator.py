"""Navigator: the scripted expert of robots on wheels. It knows the room, its own pose and the people in it.

1. The route of the grid search gives a point ahead, and pure pursuit a speed and a turn rate towards it.
2. This command and others are predicted for a moment, with people who keep walking as they do. If it does not stay
   clear of everything, the command that does and comes nearest to the point is taken (dynamic window approach).
"""

from dataclasses import replace

import numpy as np

from twinloop.simulate.route_map import CELL_M, RouteMap, route_map
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.floor_plan import PERSON_RADIUS_M

AHEAD, ALWAYS_AHEAD = 9, 1
"""The robot pursues the last of so many cells of its route to which the straight way is clear, but no nearer one than
the second number."""
SIGHT = np.array([0.25, 0.5, 0.75, 1.0])
TURN_GAIN = 2.2
SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.0])
TURNS_RAD_S = np.array([0.0, 0.4, -0.4, 0.9, -0.9, 1.6, -1.6])
TIMES_S = np.array([0.2, 0.4, 0.6, 0.9, 1.2])
GAP_M, PERSON_GAP_M, WAITING_GAP_M = 0.07, 0.25, 0.12
"""Least gaps to obstacles, to people who walk and to people who stand, in the predicted time."""
FACING, WANTED = 0.2, 10.0
"""Worth of facing the point at the end of the predicted time, in m/rad, and of the wanted command, in m."""
SLOW_GAP_M = 0.35
"""Below this gap the robot slows down, to a third without any."""
DETOUR = 6.0
"""Cost of a metre to a route, for a robot that is closer to an obstacle than routes are."""
PLAN_S, DETOUR_S = 1.0, 4.0
"""Time from plan to plan while people stand in the way, and time that a detour lasts at least."""
STRIDE = 3
NEARBY = np.array([(x, y) for x in range(-STRIDE, STRIDE + 1) for y in range(-STRIDE, STRIDE + 1)])


class Navigator:
    """Commands for all slots of a cell."""

    def __init__(self, cell: WheelCell):
        self.cell, width = cell, cell.width
        self._cells, self._slots = 0, np.arange(width)
        self._corner, self._shape = np.zeros((width, 2)), np.ones((width, 2), int)
        self._clearance = self._cost = self._way = np.zeros((width, 0))
        self._following = np.zeros((width, 0), np.int32)
        self._planned, self._detours = np.zeros(width, int), np.zeros(width, bool)

    def begin(self, ids: np.ndarray) -> None:
        """Take the routes of the episodes that have begun in slots `ids`."""
        routes = [self.cell.routes[slot] for slot in ids]
        cells = max(route.shape[0] * route.shape[1] for route in routes if route is not None)
        if cells > self._cells:
            self._grow(cells)
        for slot, route in zip(ids, routes, strict=True):
            assert route is not None
            self._take(slot, route)
            self._way[slot, : route.cost_m.size] = route.cost_m.ravel()
        self._planned[ids], self._detours[ids] = 0, False

    def _take(self, slot: int, route: RouteMap) -> None:
        count = route.cost_m.size
        self._shape[slot], self._corner[slot] = route.shape, route.corner_m
        self._clearance[slot, :count] = route.clearance_m.ravel()
        self._cost[slot, :count] = route.cost_m.ravel()
        self._following[slot, :count] = route.following.ravel()

    def _grow(self, cells: int) -> None:
        more = ((0, 0), (0, cells - self._cells))
        self._clearance, self._cost, self._way = (
            np.pad(values, more) for values in (self._clearance, self._cost, self._way)
        )
        self._following = np.pad(self._following, more)
        self._cells = cells

    def commands(self, ids: np.ndarray | None) -> np.ndarray:
        """(width, 2) speed and turn rate. Call once in each control period of slots `ids` (None: all)."""
        wanted, point = self._pursuit()
        is_open = self._open(point)
        if self._plan_detours(is_open, self._slots if ids is None else ids):
            wanted, point = self._pursuit()
        return self._safest(wanted, point, is_open)

    def _plan_detours(self, is_open: np.ndarray, ids: np.ndarray) -> bool:
        """Plan around people who stand in the way, and again without them when they have gone."""
        cell = self.cell
        since_s = (cell.tick - self._planned) * cell.twin.control_period_s
        due = np.zeros(cell.width, bool)
        due[ids] = ((~is_open & (since_s >= PLAN_S)) | (self._detours & (since_s >= DETOUR_S)))[ids]
        for slot in np.flatnonzero(due):
            plan, route = cell.plans[slot], cell.routes[slot]
            assert plan is not None
            assert route is not None
            self._planned[slot] = cell.tick[slot]
            stands = ~cell.people.velocity_m_s[slot].any(axis=1)
            people = np.zeros((int(stands.sum()), 5))
            people[:, :2], people[:, 2:4] = cell.people.position_m[slot, stands], PERSON_RADIUS_M
            self._detours[slot] = bool(len(people))
            if len(people):
                around = route_map(
                    replace(plan, boxes=np.vstack([plan.boxes, people])), radius_m=cell.twin.robot.radius_m
                )
                near = around.cells(cell.position_m[slot] + CELL_M * NEARBY)
                route = around if np.isfinite(around.cost_m[near[:, 0], near[:, 1]]).any() else route
            self._take(int(slot), route)
        return bool(due.any())

    def cost_m(self) -> np.ndarray:
        """(width,) cost of the way from the robot to the goal."""
        number = self._number(self._cell_of(self.cell.position_m[:, None]))[:, 0]
        return self._way[self._slots, number]

    def _cell_of(self, points_m: np.ndarray) -> np.ndarray:
        """(width, k, 2) indices of the cells of (width, k, 2) points."""
        index = np.floor((points_m - self._corner[:, None]) / CELL_M).astype(int)
        return np.clip(index, 0, self._shape[:, None] - 1)

    def _number(self, index: np.ndarray) -> np.ndarray:
        return index[..., 0] * self._shape[:, 1][:, None] + index[..., 1]

    def _clearance_m(self, points_m: np.ndarray) -> np.ndarray:
        """(width, k) distance of (width, k, 2) points from obstacles, interpolated between the middles of cells."""
        place = (points_m - self._corner[:, None]) / CELL_M - 0.5
        place = np.clip(place, 0, self._shape[:, None] - 1.001)
        low = place.astype(int)
        share = place - low
        number, columns, slots = self._number(low), self._shape[:, 1][:, None], self._slots[:, None]
        near = self._clearance[slots, number] * (1 - share[..., 1]) + self._clearance[slots, number + 1] * share[..., 1]
        number = number + columns
        far = self._clearance[slots, number] * (1 - share[..., 1]) + self._clearance[slots, number + 1] * share[..., 1]
        return near * (1 - share[..., 0]) + far * share[..., 0]

    def _middle(self, number: np.ndarray) -> np.ndarray:
        columns = self._shape[:, 1]
        return self._corner + CELL_M * (np.column_stack([number // columns, number % columns]) + 0.5)

    def _pursuit(self) -> tuple[np.ndarray, np.ndarray]:
        """(width, 2) speed and turn rate towards a point on the route, and that point."""
        cell, robot = self.cell, self.cell.twin.robot
        here = cell.position_m
        # A robot that is closer to an obstacle than routes are goes to a cell nearby from which there is one.
        near = np.clip(self._cell_of(here[:, None]) + NEARBY, 0, self._shape[:, None] - 1)
        number = self._number(near)
        middle = self._corner[:, None] + CELL_M * (near + 0.5)
        apart = np.hypot(*np.moveaxis(middle - here[:, None], -1, 0))
        best = np.argmin(self._cost[self._slots[:, None], number] + DETOUR * apart, axis=1)
        ahead = number[self._slots, best]
        point, goal_apart = here.copy(), np.hypot(*(cell.goal_m - here).T)
        for step in range(AHEAD):
            ahead = self._following[self._slots, ahead]
            middle = self._middle(ahead)
            line = here[:, None] + SIGHT[:, None] * (middle - here)[:, None]
            gap = self._clearance_m(line).min(axis=1)
            clear = (gap > robot.radius_m + GAP_M) | (step < ALWAYS_AHEAD)
            point = np.where(clear[:, None], middle, point)
        arrives = np.hypot(*(cell.goal_m - point).T) < CELL_M
        point = np.where(arrives[:, None], cell.goal_m, point)
        bearing = np.arctan2(point[:, 1] - here[:, 1], point[:, 0] - here[:, 0]) - cell.yaw_rad
        bearing = np.arctan2(np.sin(bearing), np.cos(bearing))
        clearance = self._clearance_m(here[:, None])[:, 0]
        slow = np.clip(1 / 3 + (clearance - robot.radius_m) / SLOW_GAP_M * 2 / 3, 1 / 3, 1)
        slow = np.minimum(slow, np.clip(goal_apart / 0.6, 0.3, 1))
        speed = robot.top_speed_m_s * slow * np.clip(np.cos(bearing), 0, 1) ** 2
        turn = np.clip(TURN_GAIN * bearing, -robot.top_turn_rad_s, robot.top_turn_rad_s)
        return np.column_stack([speed, turn]), point

    def _safest(self, wanted: np.ndarray, point: np.ndarray, is_open: np.ndarray) -> np.ndarray:
        """The wanted command if it is clear; else the clear one that comes nearest to the point and faces it."""
        cell, robot = self.cell, self.cell.twin.robot
        present = cell.target[:, 0]
        slow = np.clip((self._clearance_m(cell.position_m[:, None]) - robot.radius_m) / SLOW_GAP_M, 1 / 3, 1)
        speed = (robot.top_speed_m_s * slow * SHARES)[:, :, None] + np.zeros(len(TURNS_RAD_S))
        turn = np.clip(wanted[:, 1:] + TURNS_RAD_S, -robot.top_turn_rad_s, robot.top_turn_rad_s)[:, None, :]
        turn = turn + np.zeros((len(SHARES), 1))
        speed = np.concatenate([wanted[:, :1], speed.reshape(cell.width, -1)], axis=1)
        turn = np.concatenate([wanted[:, 1:], turn.reshape(cell.width, -1)], axis=1)
        # The speed changes gradually from the present one.
        ramp = np.clip(TIMES_S / 0.5, 0, 1)
        way = (present[:, None, None] * (1 - ramp) + speed[..., None] * ramp) * TIMES_S
        angle = cell.yaw_rad[:, None, None] + 0.5 * turn[..., None] * TIMES_S
        path = cell.position_m[:, None, None] + np.stack([way * np.cos(angle), way * np.sin(angle)], axis=-1)
        gap = np.minimum(self._obstacle_gap(path), self._person_gap(path))
        apart = point[:, None] - path[:, :, -1]
        bearing = np.arctan2(apart[..., 1], apart[..., 0]) - cell.yaw_rad[:, None] - turn * TIMES_S[-1]
        off = np.abs(np.arctan2(np.sin(bearing), np.cos(bearing)))
        change = np.abs(turn - wanted[:, 1:]) / robot.top_turn_rad_s
        score = np.hypot(apart[..., 0], apart[..., 1]) + FACING * off + 0.02 * change
        score[:, 0] -= np.where(is_open, WANTED, 0)
        best = np.argmin(np.where(gap >= 0, score, 100 - 10 * gap), axis=1)
        return np.column_stack([speed[self._slots, best], turn[self._slots, best]])

    def _obstacle_gap(self, path: np.ndarray) -> np.ndarray:
        """(width, commands) least gap of predicted paths, beyond the one that is needed."""
        cell, robot = self.cell, self.cell.twin.robot
        clearance = self._clearance_m(path.reshape(cell.width, -1, 2)).reshape(path.shape[:3])
        # A robot that is closer to an obstacle already may stay as close as it is, or it could not move at all.
        here = self._clearance_m(cell.position_m[:, None])[:, 0]
        least = np.minimum(robot.radius_m + GAP_M, here - 0.01)
        return clearance.min(axis=2) - least[:, None]

    def _person_gap(self, path: np.ndarray) -> np.ndarray:
        """The same for people, who keep walking as they do."""
        people, gap = self.cell.people, np.full(path.shape[:2], np.inf)
        near_m = self.cell.twin.robot.radius_m + PERSON_RADIUS_M
        for person in range(people.position_m.shape[1]):
            place = people.position_m[:, person, None] + people.velocity_m_s[:, person, None] * TIMES_S[:, None]
            apart = path - place[:, None]
            needed = near_m + np.where(people.velocity_m_s[:, person].any(axis=1), PERSON_GAP_M, WAITING_GAP_M)
            gap = np.minimum(gap, np.hypot(apart[..., 0], apart[..., 1]).min(axis=2) - needed[:, None])
        return gap

    def _open(self, point: np.ndarray) -> np.ndarray:
        """(width,) whether nobody stands on the straight way to a point."""
        cell = self.cell
        here = cell.position_m
        line = here[:, None] + SIGHT[:, None] * (point - here)[:, None]
        apart = line[:, :, None] - cell.people.position_m[:, None]
        near = np.hypot(apart[..., 0], apart[..., 1]).min(axis=1)
        stands = ~cell.people.velocity_m_s.any(axis=2)
        needed = cell.twin.robot.radius_m + PERSON_RADIUS_M + WAITING_GAP_M
        return ~((near < needed) & stands).any(axis=1)

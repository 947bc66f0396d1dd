"""WheelsOutcome: how episodes of driving go: progress, clearance, collisions, and the names of failures."""

import numpy as np

from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.floor_plan import PERSON_RADIUS_M, clearance_m

ARRIVED_M = 0.3
"""A robot that is nearer to its goal has arrived."""
STUCK_S, STUCK_M = 10.0, 0.3
"""A robot that has moved less than this from where it was this time ago is stuck."""


class WheelsOutcome:
    """Events of the present episode of every slot.

    Attributes:
        apart_m: (width,) distance from the goal; gain_m: by how much the way to it became shorter in the last period.
        way_m: (width,) cost of the way to the goal; shortest_m: when the episode began.
        gap_m: (width,) distance of the hull from the nearest obstacle or person; closest_m: the least so far.
        driven_m: (width,) length of the path so far.
        arrived, collided, stuck: (width,).
    """

    def __init__(self, cell: WheelCell):
        self.cell, width = cell, cell.width
        self._ticks = round(STUCK_S * cell.twin.control_hz)
        self._past = np.zeros((width, self._ticks, 2))
        self.apart_m, self.gain_m, self.gap_m = np.zeros(width), np.zeros(width), np.zeros(width)
        self.driven_m, self.closest_m, self.shortest_m = np.zeros(width), np.zeros(width), np.ones(width)
        self.arrived, self.collided, self.stuck = (np.zeros(width, bool) for _ in range(3))
        self.way_m, self._place = np.zeros(width), np.zeros((width, 2))

    def begin(self, ids: np.ndarray, way_m: np.ndarray) -> None:
        """Begin episodes. way_m: (width,) cost of the way to the goal."""
        self._place[ids] = self.cell.position_m[ids]
        self._past[ids] = np.inf
        self.way_m[ids] = self.shortest_m[ids] = np.where(np.isfinite(way_m), way_m, 0)[ids]
        self.gain_m[ids] = self.driven_m[ids] = 0
        self.arrived[ids] = self.collided[ids] = self.stuck[ids] = False
        self._measure(ids)
        self.closest_m[ids] = self.gap_m[ids]

    def update(self, ids: np.ndarray | None, way_m: np.ndarray) -> None:
        """Take in the state after a control period, of slots `ids` (None: all)."""
        part = np.arange(self.cell.width) if ids is None else ids
        self._measure(part)
        place, tick = self.cell.position_m[part].copy(), self.cell.tick[part]
        moved = place - self._place[part]
        self.driven_m[part] += np.hypot(moved[:, 0], moved[:, 1])
        self._place[part] = place
        # Beside an obstacle there may be no route; the last way length is kept then.
        way = np.where(np.isfinite(way_m[part]), way_m[part], self.way_m[part])
        self.gain_m[part], self.way_m[part] = self.way_m[part] - way, way
        self.closest_m[part] = np.minimum(self.closest_m[part], self.gap_m[part])
        self.collided[part] = self.cell.touch_n[part] > 0
        self.arrived[part] = (self.apart_m[part] < ARRIVED_M) & ~self.collided[part]
        slot = tick % self._ticks
        then = self._past[part, slot]
        self.stuck[part] = np.hypot(place[:, 0] - then[:, 0], place[:, 1] - then[:, 1]) < STUCK_M
        self._past[part, slot] = place

    def _measure(self, ids: np.ndarray) -> None:
        cell = self.cell
        here = cell.position_m[ids]
        apart = cell.goal_m[ids] - here
        self.apart_m[ids] = np.hypot(apart[:, 0], apart[:, 1])
        people = cell.people.position_m[ids] - here[:, None]
        person = np.hypot(people[..., 0], people[..., 1]).min(axis=1) - PERSON_RADIUS_M
        self.gap_m[ids] = np.minimum(clearance_m(here, cell.boxes[ids]), person) - cell.twin.robot.radius_m

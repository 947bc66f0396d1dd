"""WheelCell: a batch of simulations of a robot on wheels, each in a room of its own. Each slot runs one episode."""

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.simulate.base_cell import BaseCell, filled_history
from twinloop.simulate.cpu_engine import CpuEngine
from twinloop.simulate.engine import Engine
from twinloop.simulate.people_walk import PeopleWalk
from twinloop.simulate.room_draw import FixedPlan, draw_room
from twinloop.simulate.route_map import RouteMap
from twinloop.twin.wheels.floor_plan import MOST_BOXES, FloorPlan, absent
from twinloop.twin.wheels.wheel_twin import BOX_HEIGHT_M, PERSON_HEIGHT_M, WheelTwin

START_GAP_M = 0.001
"""Room between the wheels and the floor when an episode begins."""


class WheelCell(BaseCell):
    """`width` simulations of one twin. `admit` and `step` update all attributes.

    Attributes:
        plans, routes: the room of each slot.
        boxes: (width, MOST_BOXES, 5) walls and furniture. goal_m: (width, 2).
        people: the people of all slots.
        yaw_rad: (width,) direction of the base.
        touch_n: (width,) force of obstacles on the hull.
        target: (width, 2) speed and turn rate that the speed controller follows now.
    """

    def __init__(
        self, twin: WheelTwin, *, width: int, threads: int = 1, engine: Engine | None = None,
        fixed: FixedPlan = FixedPlan(),  # noqa: B008
    ):  # fmt: skip
        super().__init__(twin, width=width, engine=engine or CpuEngine(twin.model, width=width, threads=threads))
        self.twin, self._fixed = twin, fixed
        self._mocap, self._mocap_turn = self.engine.bind("mocap_pos"), self.engine.bind("mocap_quat")
        self.plans: list[FloorPlan | None] = [None] * width
        self.routes: list[RouteMap | None] = [None] * width
        self.boxes, self.goal_m = np.tile(absent(MOST_BOXES), (width, 1, 1)), np.zeros((width, 2))
        self.people = PeopleWalk(width=width, radius_m=twin.robot.radius_m, period_s=twin.control_period_s)
        self.target = np.zeros((width, 2))
        self._history = filled_history(twin, np.zeros(twin.joints))
        self._look()

    def admit(self, ids: np.ndarray, draws: Draws, rows: np.ndarray, *, seed: int) -> None:
        """Begin episodes `rows` of `draws` in slots `ids`, each in the room that it draws."""
        twin = self.twin
        self.apply_rows(ids, draws, rows)
        # One episode at a time: each has its own generator, independent of its slot.
        for slot, row in zip(ids.tolist(), rows.tolist(), strict=True):
            plan, routes = draw_room(draws, row, seed=seed, radius_m=twin.robot.radius_m, fixed=self._fixed)
            self.plans[slot], self.routes[slot] = plan, routes
            self.boxes[slot], self.goal_m[slot] = plan.boxes, plan.goal_m
            self.people.begin(
                slot, plan, speed_m_s=float(draws.values["person_speed_m_s"][row]),
                yield_m=float(draws.values["person_yield_m"][row]),
            )  # fmt: skip
        self._build_rooms(ids)
        self.target[ids] = 0
        if len(self._history):
            self.engine.bind("history")[ids] = self._history
        starts = np.array([self.plans[slot].start for slot in ids])  # pyright: ignore
        height = self["geom_size"][np.ix_(ids, twin.wheel_geoms)][..., 0].max(axis=1) + START_GAP_M
        self.start(ids, np.column_stack([starts[:, :2], height]), starts[:, 2])
        self._look()

    def _build_rooms(self, ids: np.ndarray) -> None:
        """Put walls, furniture and people where the floor plans have them."""
        twin, boxes = self.twin, self.boxes[ids]
        half = np.concatenate([boxes[..., 2:4], np.full((*boxes.shape[:2], 1), BOX_HEIGHT_M / 2)], axis=2)
        geoms, mocaps = np.ix_(ids, twin.box_geoms), np.ix_(ids, twin.box_mocaps)
        self["geom_size"][geoms] = half
        self["geom_rbound"][geoms] = np.sqrt(np.square(half).sum(axis=2))
        self["geom_aabb"][(*geoms, slice(3, 6))] = half
        self._mocap[(*mocaps, slice(0, 2))] = boxes[..., :2]
        self._mocap[(*mocaps, 2)] = BOX_HEIGHT_M / 2
        zero = np.zeros(boxes.shape[:2])
        self._mocap_turn[mocaps] = np.stack([np.cos(boxes[..., 4] / 2), zero, zero, np.sin(boxes[..., 4] / 2)], axis=2)
        self._place_people(ids)

    def _place_people(self, ids: np.ndarray) -> None:
        cells = np.ix_(ids, self.twin.person_mocaps)
        self._mocap[(*cells, slice(0, 2))] = self.people.position_m[ids]
        self._mocap[(*cells, 2)] = PERSON_HEIGHT_M / 2

    def wheel_speeds_rad_s(self, command: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
        """(width, 2) wheel speeds for commands of (width, 2) speed and turn rate, within the limits of acceleration."""
        robot, period_s = self.twin.robot, self.twin.control_period_s
        part = slice(None) if ids is None else ids
        now = self.target[part]
        faster = np.abs(command[part, 0]) > np.abs(now[:, 0])
        step = period_s * np.where(faster, robot.acceleration_m_s2, robot.braking_m_s2)
        speed = np.clip(command[part, 0], now[:, 0] - step, now[:, 0] + step)
        turn_step = period_s * robot.turn_acceleration_rad_s2
        turn = np.clip(command[part, 1], now[:, 1] - turn_step, now[:, 1] + turn_step)
        self.target[part] = np.column_stack([speed, turn])
        sideways = self.target[:, 1] * robot.track_m / 2
        return np.column_stack([self.target[:, 0] - sideways, self.target[:, 0] + sideways]) / robot.wheel_radius_m

    def step(self, ids: np.ndarray | None, wheels_rad_s: np.ndarray) -> None:
        """Simulate one control period with these (width, 2) wheel speeds in slots `ids` (None: all)."""
        self.people.step(ids, self.base_position[:, :2])
        self._place_people(np.arange(self.width) if ids is None else ids)
        self._ctrl[:, self.twin.arm_controls] = wheels_rad_s
        self.advance(ids)
        self._look()

    def _look(self) -> None:
        self.look_at_base()
        self.yaw_rad = np.arctan2(self.base_axes[:, 1, 0], self.base_axes[:, 0, 0])
        self.touch_n = self._sensors[:, self.twin.base_force]

    @property
    def position_m(self) -> np.ndarray:
        """(width, 2) place of the base."""
        return self.base_position[:, :2]

"""PeopleWalk: people who walk to and fro in the rooms of all slots.

A person stops while the robot is close before her, and turns round when she has waited for a while.
"""

import numpy as np

from twinloop.twin.wheels.floor_plan import FAR_M, MOST_PEOPLE, PERSON_RADIUS_M, FloorPlan

PATIENCE_S = 2.0
"""A person who has waited for this time turns round."""


class PeopleWalk:
    """The people of all slots.

    Attributes:
        position_m, velocity_m_s: (width, MOST_PEOPLE, 2).
    """

    def __init__(self, *, width: int, radius_m: float, period_s: float):
        self._near_m, self._period_s = radius_m + PERSON_RADIUS_M, period_s
        shape = (width, MOST_PEOPLE)
        self._from, self._direction = np.full((*shape, 2), FAR_M), np.ones((*shape, 2))
        self._length, self._walked, self._sign = np.ones(shape), np.zeros(shape), np.ones(shape)
        self._speed, self._yield, self._waited = np.zeros((width, 1)), np.zeros((width, 1)), np.zeros(shape)
        self.position_m, self.velocity_m_s = self._from.copy(), np.zeros((*shape, 2))

    def begin(self, slot: int, plan: FloorPlan, *, speed_m_s: float, yield_m: float) -> None:
        apart = plan.ways_m[:, 1] - plan.ways_m[:, 0]
        self._length[slot] = np.hypot(apart[:, 0], apart[:, 1])
        self._from[slot], self._direction[slot] = plan.ways_m[:, 0], apart / self._length[slot][:, None]
        self._walked[slot] = plan.walked_share * self._length[slot]
        self._speed[slot], self._yield[slot] = speed_m_s, yield_m
        self._sign[slot], self._waited[slot] = 1.0, 0.0
        self.position_m[slot] = self._from[slot] + self._walked[slot][:, None] * self._direction[slot]
        self.velocity_m_s[slot] = speed_m_s * self._direction[slot]

    def step(self, ids: np.ndarray | None, robot_m: np.ndarray) -> None:
        """Walk for one control period in slots `ids` (None: all). robot_m: (width, 2) places of the robots."""
        part = slice(None) if ids is None else ids
        towards = robot_m[part, None] - self.position_m[part]
        heading = self._sign[part][..., None] * self._direction[part]
        gap = np.hypot(towards[..., 0], towards[..., 1]) - self._near_m
        ahead = towards[..., 0] * heading[..., 0] + towards[..., 1] * heading[..., 1] > 0
        waits = ahead & (gap < self._yield[part])
        waited = np.where(waits, self._waited[part] + self._period_s, 0)
        turned = np.where(waited > PATIENCE_S, -self._sign[part], self._sign[part])
        self._waited[part] = np.where(waited > PATIENCE_S, 0, waited)
        walked = self._walked[part] + np.where(waits, 0, self._speed[part] * self._period_s) * turned
        beyond = (walked < 0) | (walked > self._length[part])
        self._sign[part] = np.where(beyond, -turned, turned)
        self._walked[part] = np.clip(walked, 0, self._length[part])
        self.position_m[part] = self._from[part] + self._walked[part][..., None] * self._direction[part]
        moving = np.where(waits, 0, self._speed[part]) * self._sign[part]
        self.velocity_m_s[part] = moving[..., None] * self._direction[part]

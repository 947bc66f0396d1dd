"""Terms of robots on wheels that go to a goal."""

import numpy as np

from twinloop.environments.term import StepState, Term

NEAR_M = 0.15
"""Gap below which `near` is above 0."""


def _near(step: StepState) -> np.ndarray:
    return np.clip(1 - step.robot.outcome.gap_m / NEAR_M, 0, 1)


def _goal_place(step: StepState) -> np.ndarray:
    """The goal in the frame of the robot, and the length of the way to it."""
    cell, outcome = step.robot.cell, step.robot.outcome
    apart = cell.goal_m - cell.position_m
    cos, sin = np.cos(cell.yaw_rad), np.sin(cell.yaw_rad)
    x, y = cos * apart[:, 0] + sin * apart[:, 1], -sin * apart[:, 0] + cos * apart[:, 1]
    return np.column_stack([x, y, outcome.way_m, outcome.gap_m])


def _people(step: StepState) -> np.ndarray:
    """Places and velocities of people in the frame of the robot, nearest first; 0 for those who are not there."""
    cell = step.robot.cell
    cos, sin = np.cos(cell.yaw_rad)[:, None], np.sin(cell.yaw_rad)[:, None]
    apart, speed = cell.people.position_m - cell.position_m[:, None], cell.people.velocity_m_s
    vectors = (np.moveaxis(apart, 2, 0), np.moveaxis(speed, 2, 0))
    columns = [part for x, y in vectors for part in (cos * x + sin * y, cos * y - sin * x)]
    distance = np.hypot(apart[..., 0], apart[..., 1])
    values = np.where((distance < 20)[..., None], np.stack(columns, axis=-1), 0)
    order = np.argsort(distance, axis=1, kind="stable")[..., None]
    return np.take_along_axis(values, order, axis=1)[:, :2].reshape(cell.width, -1)


WHEELS = ("wheels",)
WHEELS_TERMS = (
    Term("way_gain", "reward", "m", "by how much the way to the goal became shorter", lambda s: s.robot.outcome.gain_m,
         robots=WHEELS),
    Term("reached", "reward", "1", "1 where the robot has arrived at its goal",
         lambda s: s.robot.outcome.arrived.astype(float), robots=WHEELS),
    Term("touched", "reward", "1", "1 where the robot touches something",
         lambda s: s.robot.outcome.collided.astype(float), robots=WHEELS),
    Term("near", "reward", "1", "from 0 at a gap of 15 cm to 1 at a touch", _near, robots=WHEELS),
    Term("turning", "reward", "rad²/s²", "squared turn rate of the base",
         lambda s: np.square(s.robot.cell.turn_rad_s[:, 2]), robots=WHEELS),
    Term("arrived", "termination", "1", "the robot is within 30 cm of its goal", lambda s: s.robot.outcome.arrived,
         robots=WHEELS),
    Term("no_path", "termination", "1", "there is no way from the start to the goal", lambda s: s.robot.blocked,
         robots=WHEELS),
    Term("goal_place", "observation", "m", "true place of the goal, length of the way and gap; only for the critic",
         _goal_place, robots=WHEELS, elements=lambda _: ("x", "y", "way", "gap")),
    Term("people", "observation", "m; m/s", "places and velocities of the two nearest people; only for the critic",
         _people, robots=WHEELS,
         elements=lambda _: tuple(f"{n}.{part}" for n in (0, 1) for part in ("x", "y", "speed_x", "speed_y"))),
)  # fmt: skip

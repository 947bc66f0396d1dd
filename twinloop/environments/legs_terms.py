"""Terms of legged robots that follow velocity commands."""

import mujoco
import numpy as np

from twinloop.environments.embodiment import Embodiment
from twinloop.environments.term import StepState, Term
from twinloop.environments.walk_commands import STANCE_SHARE
from twinloop.environments.walk_outcome import CONTACT_N
from twinloop.twin.legs.walk_twin import WalkTwin

SCAN_FORWARD_M, SCAN_LEFT_M = np.linspace(-0.4, 0.6, 6), np.linspace(-0.3, 0.3, 5)
"""Places of the height scan in front of and beside the base."""
MAX_SCAN_M = 0.5
CLEARANCE_M = 0.12
TRUNK_CLEARANCE_M = 0.15
CORNERS = np.array([[x, y, -1] for x in (-1, 0, 1) for y in (-1, 1)], float)
AROUND = np.array([[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)], float)
"""A swinging foot clears the ground at these places, in units of `CLEARANCE_M`."""
VELOCITY_M_S, TURN_RAD_S = 0.3, 0.4
"""Errors at which the reward for tracking has fallen to 1/e."""


def _track_velocity(step: StepState) -> np.ndarray:
    cell = step.robot.cell
    error = cell.base_velocity_m_s[:, :2] - step.robot.commands.velocity[:, :2]
    return np.exp(-np.square(error).sum(axis=1) / VELOCITY_M_S**2)


def _velocity_error(step: StepState) -> np.ndarray:
    error = step.robot.cell.base_velocity_m_s[:, :2] - step.robot.commands.velocity[:, :2]
    return np.hypot(error[:, 0], error[:, 1])


def _track_turn(step: StepState) -> np.ndarray:
    error = step.robot.cell.turn_rad_s[:, 2] - step.robot.commands.velocity[:, 2]
    return np.exp(-np.square(error) / TURN_RAD_S**2)


def _gait(step: StepState) -> np.ndarray:
    """Share of feet that are in the air when they should swing, and on the ground when they should not."""
    robot = step.robot
    contact = robot.cell.foot_force_n > CONTACT_N
    return (contact != robot.commands.swings(robot.cell.tick)).mean(axis=1)


def _swing_height(step: StepState) -> np.ndarray:
    """Squared error of the height of swinging feet, highest in the middle of the swing."""
    robot = step.robot
    phase, swings = robot.commands.phase(robot.cell.tick), robot.commands.swings(robot.cell.tick)
    share = np.clip((phase - STANCE_SHARE) / (1 - STANCE_SHARE), 0, 1)
    target = robot.twin.robot.swing_height_m * np.sin(np.pi * share)
    height = robot.cell.foot_height_m - robot.twin.foot_rest_m
    return np.where(swings, np.square(height - target), 0).sum(axis=1)


def _swing_clearance(step: StepState) -> np.ndarray:
    """Squared shortfall of the height of swinging feet over the highest ground around them."""
    robot = step.robot
    cell, twin = robot.cell, robot.twin
    phase, swings = robot.commands.phase(cell.tick), robot.commands.swings(cell.tick)
    share = np.clip((phase - STANCE_SHARE) / (1 - STANCE_SHARE), 0, 1)
    around = cell.foot_position[..., None, :2] + CLEARANCE_M * AROUND
    ground = twin.terrain.height_at(around).max(axis=-1)
    # A foot comes down on the ground beside an edge, so that the arc over the edge ends before the swing.
    arc = np.sin(np.pi * share)
    rise = ground - twin.terrain.height_at(cell.foot_position[..., :2])
    height = cell.foot_height_m - twin.foot_rest_m
    short = np.maximum((twin.robot.swing_height_m + rise) * arc - height, 0)
    return np.where(swings, np.square(short), 0).sum(axis=1)


def _trunk_bottom(twin: WalkTwin) -> np.ndarray:
    """(points, 3) lowest points of the trunk's shapes, in the frame of the base."""
    model, points = twin.model, []
    for geom in np.flatnonzero((model.geom_bodyid == twin.base_body) & (model.geom_contype != 0)):
        half = model.geom_size[geom]
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX.value:
            points += [model.geom_pos[geom] + half * corner for corner in CORNERS]
        else:
            points.append(model.geom_pos[geom] - [0, 0, half[0]])
    return np.array(points)


def _trunk_clearance(step: StepState) -> np.ndarray:
    """Squared shortfall of the height of the trunk's lowest points above the ground."""
    cell, twin = step.robot.cell, step.robot.twin
    points = _trunk_bottom(twin)
    world = cell.base_position[:, None] + np.einsum("nij,kj->nki", cell.base_axes, points)
    height = world[..., 2] - twin.terrain.height_at(world[..., :2])
    return np.square(np.maximum(TRUNK_CLEARANCE_M - height, 0)).sum(axis=1)


def _foot_slip(step: StepState) -> np.ndarray:
    cell = step.robot.cell
    loaded = cell.foot_force_n > CONTACT_N
    return np.where(loaded, np.square(cell.foot_velocity_m_s[..., :2]).sum(axis=2), 0).sum(axis=1)


def _base_height(step: StepState) -> np.ndarray:
    robot = step.robot
    return np.square(robot.cell.height_m - robot.twin.robot.home_height_m)


def _pose(step: StepState) -> np.ndarray:
    robot = step.robot
    return np.square(robot.cell.arm_position_rad - np.array(robot.twin.robot.home_rad)).sum(axis=1)


def _base_velocity(step: StepState) -> np.ndarray:
    cell = step.robot.cell
    return np.column_stack([cell.base_velocity_m_s, cell.height_m])


def _foot_contact(step: StepState) -> np.ndarray:
    return (step.robot.cell.foot_force_n > CONTACT_N).astype(float)


def _height_scan(step: StepState) -> np.ndarray:
    """(n, places) height of the ground below the base: 0 on level ground at the nominal height of the base."""
    cell, robot = step.robot.cell, step.robot.twin.robot
    heading = cell.base_axes[:, :2, 0]
    heading = heading / np.maximum(np.hypot(heading[:, 0], heading[:, 1]), 1e-6)[:, None]
    left = np.stack([-heading[:, 1], heading[:, 0]], axis=1)
    ahead, beside = (places.ravel() for places in np.meshgrid(SCAN_FORWARD_M, SCAN_LEFT_M, indexing="ij"))
    places = cell.base_position[:, None, :2] + ahead[:, None] * heading[:, None] + beside[:, None] * left[:, None]
    base = cell.base_position[:, 2, None] - robot.home_height_m
    return np.clip(step.robot.twin.terrain.height_at(places) - base, -MAX_SCAN_M, MAX_SCAN_M)


def _scan_names(robot: Embodiment) -> tuple[str, ...]:
    del robot
    return tuple(f"{ahead:+.1f}_{left:+.2f}" for ahead in SCAN_FORWARD_M for left in SCAN_LEFT_M)


def _foot_names(robot: Embodiment) -> tuple[str, ...]:
    return tuple(foot.name for foot in robot.twin.robot.feet)  # pyright: ignore


def _squares(values: np.ndarray) -> np.ndarray:
    return np.square(values).sum(axis=1)


LEGS = ("legs",)
LEGS_TERMS = (
    Term("track_velocity", "reward", "1", "1 at the commanded horizontal velocity, 1/e at an error of 0.3 m/s",
         _track_velocity, robots=LEGS),
    Term("track_turn", "reward", "1", "1 at the commanded turn rate, 1/e at an error of 0.4 rad/s", _track_turn,
         robots=LEGS),
    Term("velocity_error", "reward", "m/s", "error of the horizontal velocity", _velocity_error, robots=LEGS),
    Term("gait", "reward", "1", "share of feet that touch the ground or swing when the clock of the gait asks for it",
         _gait, robots=LEGS),
    Term("swing_height", "reward", "m²", "squared error of the height of swinging feet", _swing_height, robots=LEGS),
    Term("swing_clearance", "reward", "m²",
         "squared distance of swinging feet below an arc over the highest ground around them", _swing_clearance,
         robots=LEGS),
    Term("trunk_clearance", "reward", "m²", "squared distance by which the trunk is less than 15 cm above the ground",
         _trunk_clearance, robots=LEGS),
    Term("foot_slip", "reward", "m²/s²", "squared speed of feet on the ground", _foot_slip, robots=LEGS),
    Term("vertical_speed", "reward", "m²/s²", "squared vertical speed of the base",
         lambda step: np.square(step.robot.cell.base_velocity_m_s[:, 2]), robots=LEGS),
    Term("roll_pitch_rate", "reward", "rad²/s²", "squared turn rates of the base about its horizontal axes",
         lambda step: _squares(step.robot.cell.turn_rad_s[:, :2]), robots=LEGS),
    Term("tilt", "reward", "1", "squared sine of the tilt of the base",
         lambda step: _squares(step.robot.cell.gravity[:, :2]), robots=LEGS),
    Term("base_height", "reward", "m²", "squared error of the base's height above the ground", _base_height,
         robots=LEGS),
    Term("pose", "reward", "rad²", "squared distance of the joints from the nominal pose", _pose, robots=LEGS),
    Term("joint_effort", "reward", "N²·m²", "sum of squares of the joint torques",
         lambda step: _squares(step.robot.cell.arm_effort_nm), robots=LEGS),
    Term("joint_acceleration", "reward", "rad²/s⁴", "sum of squares of the joint accelerations",
         lambda step: _squares(step.robot.acceleration_rad_s2), robots=LEGS),
    Term("falls", "reward", "1", "1 where the robot has fallen",
         lambda step: step.robot.outcome.fallen.astype(float), robots=LEGS),
    Term("slipped", "termination", "1", "the robot has fallen after a foot slid",
         lambda step: step.robot.outcome.slipped, robots=LEGS),
    Term("tripped", "termination", "1", "the robot has fallen after a shin or a swinging foot hit something",
         lambda step: step.robot.outcome.tripped, robots=LEGS),
    Term("fell", "termination", "1", "the robot is tilted by more than 60°, too low, or lies on its trunk",
         lambda step: step.robot.outcome.fallen, robots=LEGS),
    Term("base_velocity", "observation", "m/s; m", "true velocity and height of the base; only for the critic",
         _base_velocity, robots=LEGS, elements=lambda _: ("forward", "left", "up", "height")),
    Term("foot_contact", "observation", "1", "which feet touch the ground; only for the critic", _foot_contact,
         robots=LEGS, elements=_foot_names),
    Term("height_scan", "observation", "m", "height of the ground around the base; only for the critic", _height_scan,
         robots=LEGS, elements=_scan_names),
)  # fmt: skip

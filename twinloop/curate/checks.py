"""The plausibility checks of simulated episodes: one table, in the order in which they are applied.

The verdict on a rejected episode is the first check that fails. Checks without which the others are meaningless come
first. `task_failed` comes last, so as a verdict it means a plausible simulation of a failed attempt. A push against a
person comes before the other signs of a hard contact (overlap, force, jump).
"""

from functools import reduce

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import TASK_FAILED, TOO_LONG, UNREACHABLE
from twinloop.plugins import instance_of, load_plugins
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

BELOW_TABLE_M = 0.03
ROUNDING = 1e-6  # effort is recorded in single precision, so that of a servo at its limit may exceed it slightly


def largest_of_columns(values: np.ndarray) -> np.ndarray:
    """(n,) maximum of each row of (n, columns) values. For a few columns, `max(axis=1)` takes 3 times as long."""
    return reduce(np.maximum, values.T)


def _unreachable_poses(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    if not len(episodes.unreachable):  # not tested
        return np.zeros(len(episodes.lengths))
    return episodes.unreachable.astype(float)


def _non_finite_values(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    finite = np.isfinite(episodes.tape)
    return np.zeros(len(episodes.lengths)) if finite.all() else episodes.worst((~finite).sum(axis=1))


def _distance_from_base_m(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    table_m = np.repeat(episodes.draws.values["table_height_cm"] / 100, episodes.lengths)
    farthest = np.zeros(len(table_m))
    for index in twin.things:
        position = episodes["environment"][:, index.columns][:, :3]
        # The base of a mobile robot comes nearer.
        distance = np.linalg.norm(position[:, :2] - np.clip(position[:, :2], *twin.travel_m), axis=1)
        fallen = position[:, 2] < table_m - BELOW_TABLE_M
        farthest = np.maximum(farthest, np.where(fallen, np.inf, distance))
    return episodes.worst(farthest)


def _person_force_n(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    if not twin.has_person:
        return np.zeros(len(episodes.lengths))
    return episodes.worst(episodes["person_force"][:, 0])


def _velocity_jump_m_s(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    velocity = episodes["object_velocity"].reshape(len(episodes.tape), len(twin.things), 3)
    change = np.zeros(len(velocity))
    change[1:] = largest_of_columns(np.linalg.norm(np.diff(velocity, axis=0), axis=2))
    # The first frame of an episode follows the last frame of another one.
    change[episodes.starts[episodes.lengths > 0]] = 0
    return episodes.worst(change)


def _beyond_range_deg(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    position = episodes["position"][:, : twin.joints]
    low, high = twin.arm_limits_rad.T
    return np.rad2deg(episodes.worst(largest_of_columns(np.maximum(low - position, position - high))))


def _velocity_share(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    speed = np.abs(episodes["velocity"][:, : twin.joints]) / np.array(twin.robot.velocity_limits_rad_s)
    return episodes.worst(largest_of_columns(speed))


def _torque_share(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    torque = np.abs(episodes["effort"][:, : twin.joints]) / np.array(twin.robot.torque_limits_nm)
    return episodes.worst(largest_of_columns(torque)) - ROUNDING


PERSON_PUSHED = Check(
    name="person_pushed",
    unit="N",
    asks="largest force of the robot on a person",
    measure=_person_force_n,
    limit=lambda config: config.person_force_n,
)

BUILTIN: tuple[Check, ...] = (
    Check(
        name=UNREACHABLE,
        unit="poses",
        asks="key poses out of the robot's reach; the episode was not simulated",
        measure=_unreachable_poses,
        limit=lambda _config: 0.0,
        storable=False,
    ),
    Check(
        name="diverged",
        unit="",
        asks="1 if the engine warned, raised an error or its clock stood still",
        measure=lambda episodes, _twin, _config: episodes.diverged.astype(float),
        limit=lambda _config: 0.0,
        storable=False,
    ),
    Check(
        name="non_finite",
        unit="values",
        asks="largest number of NaN or infinite values in a frame",
        measure=_non_finite_values,
        limit=lambda _config: 0.0,
        storable=False,
    ),
    Check(
        name="left_workspace",
        unit="m",
        asks="largest distance of a thing from the base (infinite: it fell off the table)",
        measure=_distance_from_base_m,
        limit=lambda config: config.workspace_m,
    ),
    PERSON_PUSHED,
    Check(
        name="object_jump",
        unit="m/s",
        asks="largest change of a thing's velocity within a control period",
        measure=_velocity_jump_m_s,
        limit=lambda config: config.object_jump_m_s,
    ),
    Check(
        name="deep_penetration",
        unit="mm",
        asks="depth of the deepest contact",
        measure=lambda episodes, _twin, _config: 1000 * episodes.worst(episodes["penetration"][:, 0]),
        limit=lambda config: config.penetration_mm,
    ),
    Check(
        name="hard_contact",
        unit="N",
        asks="force of the hardest contact",
        measure=lambda episodes, _twin, _config: episodes.worst(episodes["hardest_contact"][:, 0]),
        limit=lambda config: config.contact_force_n,
    ),
    Check(
        name="joint_limit",
        unit="°",
        asks="largest angle of a joint beyond its range (negative: within it)",
        measure=_beyond_range_deg,
        limit=lambda config: config.joint_margin_deg,
    ),
    Check(
        name="velocity_limit",
        unit="of limit",
        asks="largest joint velocity as a share of its limit",
        measure=_velocity_share,
        limit=lambda config: config.velocity_share,
    ),
    Check(
        name="torque_limit",
        unit="of limit",
        asks="largest joint torque as a share of its limit",
        measure=_torque_share,
        limit=lambda config: config.torque_share,
    ),
    Check(
        name=TOO_LONG,
        unit="s",
        asks="duration of the episode",
        measure=lambda episodes, twin, _config: episodes.lengths * twin.control_period_s,
        limit=lambda config: np.nan if config.longest_s is None else config.longest_s,
    ),
    Check(
        name=TASK_FAILED,
        unit="",
        asks="1 if the episode ended without success",
        measure=lambda episodes, _twin, _config: (~episodes.success).astype(float),
        limit=lambda config: 0.0 if config.require_success else np.inf,
    ),
)

PLUGINS: tuple[Check, ...] = tuple(
    load_plugins(
        "twinloop.checks", instance_of(Check), "a twinloop.Check", builtin=[check.name for check in BUILTIN]
    ).values()
)
CHECKS: tuple[Check, ...] = (*BUILTIN[:-1], *PLUGINS, BUILTIN[-1])
"""All checks. Those of other packages (entry points of `twinloop.checks`) come before the last one, `task_failed`."""

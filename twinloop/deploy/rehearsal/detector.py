"""The success detector of a rehearsal cell: it applies the task's success test to the final pose of the object."""

from dataclasses import dataclass

import numpy as np

from twinloop.deploy.rehearsal.drake_world import DrakeWorld
from twinloop.deploy.robot import Outcome
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE, TARGET_RADIUS_M

SETTLE_S = 0.4


@dataclass(frozen=True)
class _Seen:
    """A batch of one Scene, as seen by the overhead camera."""

    object_position: np.ndarray
    object_yaw_rad: np.ndarray
    object_speed_m_s: np.ndarray
    object_half_height_m: np.ndarray
    goal_position: np.ndarray
    finger_force_n: np.ndarray
    tool_position: np.ndarray
    table_height_m: np.ndarray
    support_force_n: np.ndarray


def outcome_of(world: DrakeWorld) -> Outcome:
    """Return the outcome of an episode. The robot is halted and the scene settles for SETTLE_S first."""
    world.halt()
    world.pass_time(SETTLE_S)
    situation, pose = world.situation, world.object_pose
    unknown = np.zeros(1)
    seen = _Seen(
        object_position=pose[None, :3],
        object_yaw_rad=unknown,
        object_speed_m_s=np.array([world.object_speed_m_s()]),
        object_half_height_m=np.array([situation.thing.half_extents_m[2]]),
        goal_position=situation.goal_pose[None, :3],
        finger_force_n=world.finger_force_n()[None],
        tool_position=np.zeros((1, 3)),
        table_height_m=unknown,
        support_force_n=unknown,
    )
    success = bool(PICK_AND_PLACE.success(seen)[0])
    return Outcome(success, _in_words(seen, success))


def _in_words(seen: _Seen, success: bool) -> str:
    if success:
        return "in the target zone, at rest, let go"
    away_m = float(np.linalg.norm((seen.object_position - seen.goal_position)[0, :2]))
    if seen.finger_force_n.max() >= 0.1:
        return "still in the fingers"
    if seen.object_speed_m_s[0] >= 0.05:
        return "still moving"
    if away_m >= TARGET_RADIUS_M:
        return f"{100 * away_m:.0f} cm from the middle of the target zone"
    return "not upright in the target zone"

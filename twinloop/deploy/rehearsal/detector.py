"""The success detector of a rehearsal cell: it applies the task's success test to the final pose of the object."""

from dataclasses import dataclass

import numpy as np

from twinloop.deploy.rehearsal.drake_world import DrakeWorld
from twinloop.deploy.robot import Outcome
from twinloop.twin.soft import axes_of
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE, TARGET_RADIUS_M

SETTLE_S = 0.4


@dataclass(frozen=True)
class _Seen:
    """A batch of one Scene, as seen by the overhead camera.

    Attributes:
        poses: entity -> (7,).
    """

    poses: dict[str, np.ndarray]
    half_m: np.ndarray
    speed: float
    finger_force_n: np.ndarray
    tool_position: np.ndarray
    tool_axes: np.ndarray
    table_height_m: np.ndarray
    support_force_n: np.ndarray

    def position(self, name: str) -> np.ndarray:
        return self.poses[name][None, :3]

    def axes(self, name: str) -> np.ndarray:
        return axes_of(self.poses[name][None, 3:])

    def value(self, name: str) -> np.ndarray:
        raise KeyError(f"{name} has no joint")

    def speed_m_s(self, name: str) -> np.ndarray:  # noqa: ARG002
        return np.array([self.speed])

    def half_extents_m(self, name: str) -> np.ndarray:  # noqa: ARG002
        return self.half_m[None]

    def rest_height_m(self, name: str) -> np.ndarray:  # noqa: ARG002
        return np.zeros(1)


def outcome_of(world: DrakeWorld) -> Outcome:
    """Return the outcome of an episode. The robot is halted and the scene settles for SETTLE_S first."""
    world.halt()
    world.pass_time(SETTLE_S)
    situation, pose = world.situation, world.object_pose
    seen = _Seen(
        poses={"object": pose, "goal": situation.goal_pose},
        half_m=np.array(situation.thing.half_extents_m),
        speed=world.object_speed_m_s(),
        finger_force_n=world.finger_force_n()[None],
        tool_position=np.zeros((1, 3)),
        tool_axes=np.eye(3)[None],
        table_height_m=np.zeros(1),
        support_force_n=np.zeros(1),
    )
    success = bool(PICK_AND_PLACE.succeeded(seen)[0])
    return Outcome(success, _in_words(seen, success))


def _in_words(seen: _Seen, success: bool) -> str:
    if success:
        return "in the target zone, at rest, released"
    away_m = float(np.linalg.norm((seen.position("object") - seen.position("goal"))[0, :2]))
    if seen.finger_force_n.max() >= 0.1:
        return "still in the fingers"
    if seen.speed >= 0.05:
        return "still moving"
    if away_m >= TARGET_RADIUS_M:
        return f"{100 * away_m:.0f} cm from the centre of the target zone"
    return "not upright in the target zone"

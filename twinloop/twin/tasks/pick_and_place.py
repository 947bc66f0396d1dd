"""Pick the object up and put it down in the target zone."""

from collections.abc import Mapping

import mujoco
import numpy as np

from twinloop.twin.objects import SceneObject
from twinloop.twin.shapes import half_extents_m
from twinloop.twin.table import laid
from twinloop.twin.task import Phase, Scene, Start, Task

OBJECT_XY_M = (0.46, -0.13)
TARGET_XY_M = (0.52, 0.17)
TARGET_RADIUS_M = 0.05

PHASES = (
    Phase("approach", anchor="object", height_m=0.09, gripper="open", speed_m_s=0.45, tolerance_m=0.02),
    Phase("descend", anchor="object", height_m=0.0, gripper="open", speed_m_s=0.2, tolerance_m=0.006),
    Phase("grasp", anchor="here", height_m=0.0, gripper="closed", until="gripped", shortest_s=0.2, noise=0.0),
    Phase("lift", anchor="here", height_m=0.12, gripper="closed", speed_m_s=0.35, tolerance_m=0.03, carrying=True),
    Phase("transfer", anchor="goal", height_m=0.1, gripper="closed", moves="object", speed_m_s=0.45,
          tolerance_m=0.025, carrying=True),
    Phase("place", anchor="goal", height_m=0.002, gripper="closed", moves="object", speed_m_s=0.2,
          tolerance_m=0.006, carrying=True),
    Phase("release", anchor="here", height_m=0.0, gripper="open", until="opened", shortest_s=0.12, noise=0.0),
    Phase("retreat", anchor="here", height_m=0.1, gripper="open", speed_m_s=0.35, tolerance_m=0.03, shortest_s=0.2),
)  # fmt: skip


def furnish(spec: mujoco.MjSpec) -> None:
    """Add the target zone: a disc on the table without contacts."""
    target = spec.worldbody.add_body(name="target", mocap=True)
    target.add_geom(
        name="target", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[TARGET_RADIUS_M, 0.0005, 0],
        rgba=[0.2, 0.65, 0.35, 0.6], contype=0, conaffinity=0,
    )  # fmt: skip


def object_poses(
    draw: Mapping[str, np.ndarray], count: int, thing: SceneObject, xy_m: tuple[float, float]
) -> np.ndarray:
    """(n, 7) pose of the object on the table near `xy_m`."""
    yaw = np.deg2rad(draw["object_yaw_deg"])
    poses = np.zeros((count, 7))
    poses[:, 0] = xy_m[0] + draw["object_position_noise_cm.x"] / 100
    poses[:, 1] = xy_m[1] + draw["object_position_noise_cm.y"] / 100
    poses[:, 2] = draw["table_height_cm"] / 100 + half_extents_m(thing, draw)[:, 2]
    poses[:, 3], poses[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    return laid(draw, poses)


def start(draw: Mapping[str, np.ndarray], count: int, thing: SceneObject) -> Start:
    goal = np.zeros((count, 7))
    goal[:, 0] = TARGET_XY_M[0] + draw["target_position_noise_cm.x"] / 100
    goal[:, 1] = TARGET_XY_M[1] + draw["target_position_noise_cm.y"] / 100
    goal[:, 2] = draw["table_height_cm"] / 100
    goal[:, 3] = 1
    return Start(object_poses(draw, count, thing, OBJECT_XY_M), laid(draw, goal))


def anchors(scene: Scene) -> Mapping[str, np.ndarray]:
    # The centre of an object at rest at the goal is half the object's height above it.
    rest = scene.goal_position.copy()
    rest[:, 2] += scene.object_half_height_m
    return {"object": scene.object_position, "goal": rest}


def left_at_goal(scene: Scene, *, within_m: float, height_tolerance_m: float) -> np.ndarray:
    """(n,) whether the object is at rest, released, and within the tolerances of the goal."""
    offset = scene.object_position - scene.goal_position
    near = np.sqrt(np.square(offset[:, :2]).sum(axis=1)) < within_m
    at_height = np.abs(offset[:, 2] - scene.object_half_height_m) < height_tolerance_m
    at_rest = scene.object_speed_m_s < 0.05
    let_go = scene.finger_force_n.max(axis=1) < 0.1
    return near & at_height & at_rest & let_go


def success(scene: Scene) -> np.ndarray:
    """(n,) whether the object is on the table, inside the target zone."""
    return left_at_goal(scene, within_m=TARGET_RADIUS_M, height_tolerance_m=0.01)


PICK_AND_PLACE = Task(
    name="pick_and_place",
    instruction="pick up the {object} and place it in the target zone",
    phases=PHASES,
    retry_from="approach",
    longest_s=20.0,
    furnish=furnish,
    start=start,
    anchors=anchors,
    success=success,
)

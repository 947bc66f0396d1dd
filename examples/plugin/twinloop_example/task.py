"""lift: grasp the object and hold it 10 cm above the table."""

from collections.abc import Mapping

import mujoco
import numpy as np

import twinloop as tl
from twinloop.twin.objects import SceneObject
from twinloop.twin.task import Phase, Scene, Start
from twinloop.twin.tasks.pick_and_place import object_poses

OBJECT_XY_M = (0.46, -0.05)
LIFT_M = 0.12
SUCCESS_M = 0.1

PHASES = (
    Phase("approach", anchor="object", height_m=0.09, gripper="open", speed_m_s=0.45, tolerance_m=0.02),
    Phase("descend", anchor="object", height_m=0.0, gripper="open", speed_m_s=0.2, tolerance_m=0.006),
    Phase("grasp", anchor="here", height_m=0.0, gripper="closed", until="gripped", shortest_s=0.2, noise=0.0),
    Phase("lift", anchor="here", height_m=LIFT_M, gripper="closed", speed_m_s=0.3, tolerance_m=0.01, carrying=True),
)


def furnish(spec: mujoco.MjSpec) -> None:
    """Add the goal: a body of the name `target` that touches nothing. Every task has one."""
    goal = spec.worldbody.add_body(name="target", mocap=True)
    goal.add_geom(name="target", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], contype=0, conaffinity=0)


def start(draw: Mapping[str, np.ndarray], count: int, thing: SceneObject) -> Start:
    """Place the object on the table, and the goal above it."""
    object_pose = object_poses(draw, count, thing, OBJECT_XY_M)
    goal_pose = object_pose.copy()
    goal_pose[:, 2] += LIFT_M
    return Start(object_pose, goal_pose)


def anchors(scene: Scene) -> Mapping[str, np.ndarray]:
    return {"object": scene.object_position}


def success(scene: Scene) -> np.ndarray:
    """The object is high enough, and both fingers press on it."""
    height_m = scene.object_position[:, 2] - scene.object_half_height_m - scene.table_height_m
    return (height_m > SUCCESS_M) & (scene.finger_force_n.min(axis=1) > 0.1)


LIFT = tl.Task(
    name="lift",
    instruction="lift the {object}",
    phases=PHASES,
    retry_from="approach",
    longest_s=12.0,
    furnish=furnish,
    start=start,
    anchors=anchors,
    success=success,
)

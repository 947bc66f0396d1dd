"""How wide a robot's gripper opens, measured on its model."""

from functools import lru_cache

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin import robot_measures
from twinloop.twin.robot import Robot


@lru_cache(maxsize=32)
def opening_m(robot: Robot) -> float:
    """Distance between the fingers of the open gripper, through the tool's frame."""
    model = robot.build().compile()
    joint, actuator, body = (getattr(mujoco.mjtObj, f"mjOBJ_{kind}") for kind in ("JOINT", "ACTUATOR", "BODY"))

    def ids(kind: mujoco.mjtObj, *names: str) -> list[int]:
        return [mujoco.mj_name2id(model, kind, name) for name in names]

    gripper = robot.gripper
    data = robot_measures.settled(
        model,
        ids(actuator, gripper.actuator)[0],
        gripper.open_control,
        joints=ids(joint, *gripper.joints),
        arm_joints=ids(joint, *robot.arm_joints),
        home_rad=robot.home_rad,
    )
    site = data.site(robot.tool_site)
    tool, closing = np.array(site.xpos), np.array(site.xmat).reshape(3, 3)[:, 1]
    left, right = ids(body, *gripper.finger_bodies)
    width_m = between_fingers_m(model, data, (left, right), tool, closing)
    if width_m is None:
        raise ModelError(f"robot {robot.name}: a finger has no geom with contacts; its gripper cannot hold anything")
    return width_m


def between_fingers_m(
    model: mujoco.MjModel, data: mujoco.MjData, fingers: tuple[int, int], tool: np.ndarray, closing: np.ndarray
) -> float | None:
    """Distance between two finger bodies along the closing direction through a point; None if one touches nothing."""
    pads = robot_measures.pads(model, fingers, tool, data)
    if len(pads) != 2:
        return None
    sides = [distance_m(model, data, fingers, tool, sign * closing) for sign in (1, -1)]
    if max(sides) < 0:
        return float(mujoco.mj_geomDistance(model, data, *pads, robot_measures.FARTHEST_M, None))
    # A jaw that swings aside leaves at least as much room as the other one.
    return sum(side if side >= 0 else max(sides) for side in sides)


def distance_m(
    model: mujoco.MjModel, data: mujoco.MjData, fingers: tuple[int, ...], start: np.ndarray, way: np.ndarray
) -> float:
    """Distance from a point to the next finger along a direction; -1 if there is none."""
    hits = []
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, fingers)):
        if not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            continue
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
            distance = mujoco.mj_rayMesh(model, data, int(geom), start, way, None)
        else:
            place, axes = data.geom_xpos[geom], data.geom_xmat[geom]
            distance = mujoco.mju_rayGeom(place, axes, model.geom_size[geom], start, way, model.geom_type[geom], None)
        if distance >= 0:
            hits.append(distance)
    return min(hits, default=-1.0)

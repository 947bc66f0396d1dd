"""Where a gripper can be attached to an arm without one."""

import re

import mujoco
import numpy as np

from twinloop.twin.robot_files.inspection.fingers import bodies_below, farthest_m
from twinloop.twin.robot_files.mapping import ToolFrame

FLANGE = re.compile(r"attach|flange|tool|tcp|ee|pinch|grasp|end_?eff", re.IGNORECASE)
NO_FLANGE = re.compile(r"cam|optical|lens|sensor|imu|light", re.IGNORECASE)
ALIGNED = 0.95
MIN_ONWARD_M = 0.01


def find_flange(model: mujoco.MjModel, arm: list[int]) -> tuple[str | ToolFrame, str]:
    """A named frame on the last link whose z axis is the last joint's axis, pointing outwards; else one that is added.

    Returns:
        The frame as the mapping names it, and a note.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    last = int(model.jnt_bodyid[arm[-1]])
    bodies = bodies_below(model, last)
    anchor, axis = data.xanchor[arm[-1]], data.xaxis[arm[-1]]
    frames = [
        (data.site_xpos[site], data.site_xmat[site].reshape(3, 3), model.site(site).name)
        for site in range(model.nsite)
        if model.site_bodyid[site] in bodies
    ]
    frames += [(data.xpos[body], data.xmat[body].reshape(3, 3), model.body(body).name) for body in bodies[1:]]
    aligned = [
        (float((position - anchor) @ axes[:, 2]), name)
        for position, axes, name in frames
        if name and abs(axes[:, 2] @ axis) > ALIGNED
    ]
    # A frame without shapes at the end of the chain is a flange under any name.
    ends = {model.body(body).name for body in bodies[1:] if not model.body_geomnum[body] and _is_leaf(model, body)}
    for fitting in (
        [frame for frame in aligned if FLANGE.search(frame[1])],
        [frame for frame in aligned if frame[1] in ends and not NO_FLANGE.search(frame[1])],
    ):
        if fitting and max(fitting)[0] > -1e-3:  # z points outwards, and not back through the link
            name = max(fitting)[1]
            return name, f"the gripper is attached at {name!r}"
    outward = _outward(model, data, arm, bodies)
    geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
    depth = farthest_m(model, data, geoms, anchor, outward) if len(geoms) else 0.0
    to_body = data.xmat[last].reshape(3, 3).T
    offset = to_body @ (anchor + max(depth, 0.0) * outward - data.xpos[last])
    quat = _quat_with_z(to_body @ outward)
    frame = ToolFrame(
        body=model.body(last).name, offset=tuple(round(float(x), 4) for x in offset),
        quat=tuple(round(float(x), 5) for x in quat),
    )  # fmt: skip
    return frame, "no flange frame in the model: the gripper is attached at the end of the last link; check `at`"


def _is_leaf(model: mujoco.MjModel, body: int) -> bool:
    return not (model.body_parentid[1:] == body).any()


def _outward(model: mujoco.MjModel, data: mujoco.MjData, arm: list[int], bodies: list[int]) -> np.ndarray:
    """The last joint's axis, in the direction in which its frames lie, away from the joint before it, or in which its
    link reaches farther."""
    axis, anchor = data.xaxis[arm[-1]], data.xanchor[arm[-1]]
    points = [data.xpos[body] for body in bodies[1:]]
    points += [data.site_xpos[site] for site in range(model.nsite) if model.site_bodyid[site] in bodies]
    along = [float((point - anchor) @ axis) for point in points if np.linalg.norm(point - anchor) > 1e-3]
    if along and max(along, key=abs) != 0:
        return axis * np.sign(max(along, key=abs))
    onward_m = float((anchor - data.xanchor[arm[-2]]) @ axis)
    if abs(onward_m) > MIN_ONWARD_M:
        # A link whose frame is on its flange lies behind that frame.
        return axis * np.sign(onward_m)
    geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
    if not len(geoms):
        return axis
    forth, back = (farthest_m(model, data, geoms, anchor, sign * axis) for sign in (1, -1))
    return axis if forth >= back else -axis


def _quat_with_z(z: np.ndarray) -> np.ndarray:
    quat = np.zeros(4)
    mujoco.mju_quatZ2Vec(quat, z)
    return quat

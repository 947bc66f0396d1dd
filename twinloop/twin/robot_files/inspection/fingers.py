"""The two fingers of a gripper, and the frame between their tips."""

from dataclasses import dataclass

import mujoco
import numpy as np

INSET_M, MOST_INSET_M = 0.012, 0.016  # of the tool's frame from the shorter and the longer finger tip
TIP_M = 0.005
ALIGNED = 0.95
ACROSS = 0.45  # largest cosine between the axis of a wrist that bends and the fingers
MIN_TOWARDS_M, MIN_ONWARD_M = 0.01, 0.02


@dataclass(frozen=True)
class ToolPose:
    """Tool frame in the hand's frame: z out of the hand, y along the line between the fingers."""

    offset_m: np.ndarray
    rotation: np.ndarray

    @property
    def quat(self) -> np.ndarray:
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, self.rotation.ravel())
        return quat


def find_fingers(
    model: mujoco.MjModel, data: mujoco.MjData, hand: int, gripper: tuple[int, ...]
) -> tuple[int, int] | None:
    """The two bodies with contacts that reach farthest out of the hand, on different branches; None if there is one.

    A part of the hand that does not move counts as a finger only beside a single moving jaw.
    """
    origin, axis = data.xpos[hand], outward_axis(model, data, hand, gripper)
    branches: dict[int, list[tuple[float, int]]] = {}
    for body in bodies_below(model, hand):
        branch = _branch_of(model, hand, body, gripper)
        geoms = contact_geoms(model, body)
        if len(geoms):
            branches.setdefault(branch, []).append((farthest_m(model, data, geoms, origin, axis), body))
    if len(branches) > 2:
        branches.pop(hand, None)
    tips = sorted((max(bodies) for bodies in branches.values()), reverse=True)
    if len(tips) < 2:
        return None
    first = tips[0]
    # Of the other branches, the one whose tip is as far out and on the other side.
    apart = [
        (
            abs(tip[0] - first[0]) < 0.03,
            float(np.linalg.norm(_centre(model, data, tip[1]) - _centre(model, data, first[1]))),
            tip[1],
        )
        for tip in tips[1:]
    ]
    return first[1], max(apart)[2]


def count_fingers(model: mujoco.MjModel, hand: int, gripper: tuple[int, ...]) -> int:
    """How many branches of the hand move and have contacts."""
    bodies = [body for body in bodies_below(model, hand) if len(contact_geoms(model, body))]
    return len({_branch_of(model, hand, body, gripper) for body in bodies} - {hand})


def outward_axis(model: mujoco.MjModel, data: mujoco.MjData, hand: int, gripper: tuple[int, ...]) -> np.ndarray:
    """Direction out of the hand: the axis of the last joint before it, if the fingers lie that way."""
    bodies = [model.jnt_bodyid[joint] for joint in gripper]
    geoms = [
        geom
        for body in {*bodies, *(b for body in bodies for b in bodies_below(model, body))}
        for geom in contact_geoms(model, body)
    ]
    ends = data.geom_xpos[geoms] if geoms else data.xpos[bodies]
    towards = ends.mean(axis=0) - data.xpos[hand]
    if np.linalg.norm(towards) < MIN_TOWARDS_M:
        # The frame of the hand is between the fingers; its wrist is not.
        joint = wrist_joint(model, hand)
        towards = ends.mean(axis=0) - (data.xpos[hand] if joint is None else data.xanchor[joint])
    towards = towards / max(float(np.linalg.norm(towards)), 1e-9)
    axis = wrist_axis(model, data, hand)
    along = float(axis @ towards)
    if abs(along) < ACROSS:
        # A wrist that bends moves the fingers in its plane; a single jaw lies beside that plane.
        towards = towards - along * axis
        return towards / np.linalg.norm(towards)
    if abs(along) <= 0.5:
        return towards
    # The frame of the hand may be at the finger tips. The joint before the last one is always behind them.
    before = joint_before(model, wrist_joint(model, hand))
    onward_m = 0.0 if before is None else float(axis @ (ends.mean(axis=0) - data.xanchor[before]))
    return axis * np.sign(onward_m if abs(onward_m) > MIN_ONWARD_M else along)


def wrist_axis(model: mujoco.MjModel, data: mujoco.MjData, hand: int) -> np.ndarray:
    """(3,) axis of the last joint before the hand; 0 if there is none."""
    joint = wrist_joint(model, hand)
    return np.zeros(3) if joint is None else data.xaxis[joint]


def wrist_joint(model: mujoco.MjModel, hand: int) -> int | None:
    """The last joint before the hand."""
    body = hand
    while body and not model.body_jntnum[body]:
        body = int(model.body_parentid[body])
    joints = int(model.body_jntnum[body])
    return int(model.body_jntadr[body]) + joints - 1 if joints else None


def joint_before(model: mujoco.MjModel, joint: int | None) -> int | None:
    """The joint before a joint, on its own body or on one above; None if there is none."""
    if joint is None:
        return None
    body = int(model.jnt_bodyid[joint])
    if joint > model.body_jntadr[body]:
        return joint - 1
    return wrist_joint(model, int(model.body_parentid[body]))


def tip_point(model: mujoco.MjModel, data: mujoco.MjData, finger: int, z: np.ndarray) -> np.ndarray:
    """The middle of the finger's outermost end along z, in the finger's frame."""
    clouds = [_points(model, data, geom) for geom in contact_geoms(model, finger)]
    points = np.concatenate(clouds)
    along = points @ z
    return data.xmat[finger].reshape(3, 3).T @ (points[along > along.max() - TIP_M].mean(axis=0) - data.xpos[finger])


def tool_pose(
    data: mujoco.MjData, tips: tuple[np.ndarray, np.ndarray], hand: int, z: np.ndarray, y: np.ndarray
) -> ToolPose:
    """The frame between the finger tips.

    Args:
        data: the gripper closed on an object.
        tips: inner points of the two finger tips in the world.
        y: a direction from one finger to the other.
    """
    y = y - z * (y @ z)
    y = y / np.linalg.norm(y)
    middle = (tips[0] + tips[1]) / 2
    shorter, longer = sorted(float(tip @ z) for tip in tips)
    point = middle + z * (max(shorter - INSET_M, longer - MOST_INSET_M) - middle @ z)
    to_hand = data.xmat[hand].reshape(3, 3).T
    return ToolPose(to_hand @ (point - data.xpos[hand]), to_hand @ np.column_stack([np.cross(y, z), y, z]))


def fitting_site(model: mujoco.MjModel, data: mujoco.MjData, hand: int, tool: ToolPose) -> str:
    """A site of the model that has this pose already; "" if there is none."""
    to_world = data.xmat[hand].reshape(3, 3)
    point, axes = data.xpos[hand] + to_world @ tool.offset_m, to_world @ tool.rotation
    for site in range(model.nsite):
        near = np.linalg.norm(data.site_xpos[site] - point) < INSET_M
        aligned = np.abs(np.einsum("ij,ij->j", axes, data.site_xmat[site].reshape(3, 3)))
        facing = axes[:, 2] @ data.site_xmat[site].reshape(3, 3)[:, 2]
        if near and model.site(site).name and aligned[1] > ALIGNED and facing > ALIGNED:
            return model.site(site).name
    return ""


def contact_geoms(model: mujoco.MjModel, body: int) -> np.ndarray:
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    geoms = np.arange(first, first + count)
    return geoms[(model.geom_contype[geoms] > 0) | (model.geom_conaffinity[geoms] > 0)] if count else geoms[:0]


def farthest_m(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: np.ndarray, origin: np.ndarray, axis: np.ndarray
) -> float:
    """How far the geoms reach along an axis."""
    return max(float(((_points(model, data, geom) - origin) @ axis).max()) for geom in geoms)


def _points(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> np.ndarray:
    """Vertices of a mesh, or corners of the bounding box of another geom, in the world."""
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH.value:
        mesh = int(model.geom_dataid[geom])
        first = int(model.mesh_vertadr[mesh])
        local = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])].astype(float)
    else:
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        local = model.geom_aabb[geom, :3] + model.geom_aabb[geom, 3:] * signs
    return data.geom_xpos[geom] + local @ data.geom_xmat[geom].reshape(3, 3).T


def _centre(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> np.ndarray:
    return data.geom_xpos[contact_geoms(model, body)].mean(axis=0)


def bodies_below(model: mujoco.MjModel, body: int) -> list[int]:
    """The body and all bodies below it."""
    bodies = [body]
    for child in range(body + 1, model.nbody):
        if model.body_parentid[child] in bodies:
            bodies.append(child)
    return bodies


def _branch_of(model: mujoco.MjModel, hand: int, body: int, gripper: tuple[int, ...]) -> int:
    """The first body with a gripper joint on the way from the hand to `body`; the hand for parts that do not move."""
    moving = {int(model.jnt_bodyid[joint]) for joint in gripper}
    path = [body]
    while path[-1] != hand:
        path.append(int(model.body_parentid[path[-1]]))
    return next((step for step in reversed(path) if step in moving), hand)

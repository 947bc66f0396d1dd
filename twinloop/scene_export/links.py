"""Links: the bodies of a model as rigid links with one joint each, as URDF and USD need them.

A body of the engine may have several joints. Each of them but the last gets a virtual link of almost no mass. The nodes
of a flex (a soft thing) are bodies too; they are left out where the flex becomes one rigid link.
"""

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.transforms import inverse, transform, turn

VIRTUAL_MASS_KG, VIRTUAL_INERTIA = 1e-4, 1e-7
"""Mass and inertia of a virtual link. Engines need some of both in every link that moves."""

JointKind = Literal["fixed", "hinge", "slide", "ball", "free"]
KINDS: dict[int, JointKind] = {
    mujoco.mjtJoint.mjJNT_HINGE.value: "hinge",
    mujoco.mjtJoint.mjJNT_SLIDE.value: "slide",
    mujoco.mjtJoint.mjJNT_BALL.value: "ball",
    mujoco.mjtJoint.mjJNT_FREE.value: "free",
}


@dataclass(frozen=True)
class RigidLink:
    """A rigid link and the joint to its parent.

    Attributes:
        body: index of the body; -1 for a virtual link.
        root: index of the top body of its tree, a child of the world.
        parent: name of the parent link; "" for the world.
        joint: index of the joint in the model; -1 for a fixed one.
        parent_to_link: (4, 4) pose of the link in its parent while the joint is at 0.
        anchor: point on the joint's axis, in the link.
        axis: of a hinge or slide, in the link.
        to_world: (4, 4) pose in the start state.
    """

    name: str
    body: int
    root: int
    parent: str
    kind: JointKind
    joint: int
    joint_name: str
    parent_to_link: np.ndarray
    anchor: np.ndarray
    axis: np.ndarray
    to_world: np.ndarray


def links_of(model: mujoco.MjModel, data: mujoco.MjData, *, left_out: frozenset[int] = frozenset()) -> list[RigidLink]:
    """All links, parents first. The world is not a link."""
    names = Names(model)
    links: list[RigidLink] = []
    for body in range(1, model.nbody):
        if body not in left_out:
            links += _links_of_body(model, data, body, names)
    return links


def _links_of_body(model: mujoco.MjModel, data: mujoco.MjData, body: int, names: Names) -> list[RigidLink]:
    name, parent = names["body"][body], int(model.body_parentid[body])
    joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    to_parent = transform(model.body_pos[body], model.body_quat[body])
    to_world = transform(data.xpos[body], data.xquat[body])
    parent_name = names["body"][parent] if parent else ""
    if not joints:
        if model.body_mocapid[body] >= 0:
            to_parent = to_world
        origin = np.zeros(3)
        root = int(model.body_rootid[body])
        return [
            RigidLink(name, body, root, parent_name, "fixed", -1, f"{name}_fixed", to_parent, origin, origin, to_world)
        ]
    links = []
    for joint in joints:
        last = joint == joints[-1]
        kind = KINDS[int(model.jnt_type[joint])]
        address = int(model.jnt_qposadr[joint])
        anchor, axis = np.zeros(3), np.array(model.jnt_axis[joint])
        if kind in ("hinge", "ball"):
            anchor = np.array(model.jnt_pos[joint])
        if kind in ("hinge", "slide"):
            at_zero = joint_motion(kind, anchor, axis, -float(model.qpos0[address]))
            to_parent = to_parent @ at_zero
        links.append(
            RigidLink(
                name=name if last else f"{name}_before_{names['joint'][joint + 1].rpartition('/')[2]}",
                body=body if last else -1,
                root=int(model.body_rootid[body]),
                parent=parent_name,
                kind=kind,
                joint=joint,
                joint_name=names["joint"][joint],
                parent_to_link=to_parent,
                anchor=anchor,
                axis=axis,
                to_world=to_world,
            )
        )
        parent_name, to_parent = links[-1].name, np.eye(4)
    return _with_start_poses(model, data, links)


def _with_start_poses(model: mujoco.MjModel, data: mujoco.MjData, links: list[RigidLink]) -> list[RigidLink]:
    """The links of one body with poses of virtual links: from the body back through its later joints."""
    placed, to_world = [links[-1]], links[-1].to_world
    for link, later in zip(links[-2::-1], links[:0:-1], strict=True):
        position = float(data.qpos[model.jnt_qposadr[later.joint]])
        if later.kind == "ball":
            start = int(model.jnt_qposadr[later.joint])
            shift = transform(later.anchor)
            motion = shift @ transform(np.zeros(3), data.qpos[start : start + 4]) @ inverse(shift)
        else:
            motion = later.parent_to_link @ joint_motion(later.kind, later.anchor, later.axis, position)
        to_world = to_world @ inverse(motion)
        placed.append(RigidLink(**{**vars(link), "to_world": to_world}))
    return placed[::-1]


def joint_motion(kind: JointKind, anchor: np.ndarray, axis: np.ndarray, position: float) -> np.ndarray:
    """Transform of a hinge or slide that is moved by `position` from where its transform is the identity."""
    if kind == "slide":
        return transform(position * axis)
    shift = transform(anchor)
    return shift @ turn(axis, position) @ inverse(shift)


def articulated_roots(links: list[RigidLink]) -> set[int]:
    """Top bodies of trees with a joint that is not a single free one."""
    return {link.root for link in links if link.kind in ("hinge", "slide", "ball")}


def virtual_link_note(names: list[str]) -> list[str]:
    return [f"virtual links of 0.1 g, between joints of one body: {', '.join(names)}"] if names else []

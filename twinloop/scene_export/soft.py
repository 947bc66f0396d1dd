"""Soft things: each flex as one rigid link in its shape at the start, for formats without soft bodies."""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.surfaces import Surface, tube
from twinloop.scene_export.transforms import quaternion, transform

TRANSLATING = {mujoco.mjtJoint.mjJNT_SLIDE.value, mujoco.mjtJoint.mjJNT_FREE.value}


@dataclass(frozen=True)
class SoftThing:
    """A flex as a rigid link. Its frame is at the centre of mass with axes along the world's.

    Attributes:
        bodies: the nodes, which are no links of their own.
        pinned: some nodes are fixed in the world, so the link is static.
        principal_quat: from the principal axes of inertia to the link.
    """

    name: str
    bodies: frozenset[int]
    pinned: bool
    surface: Surface
    solid: bool
    to_world: np.ndarray
    mass_kg: float
    inertia: np.ndarray
    principal_quat: np.ndarray
    rgba: np.ndarray
    friction: float


def soft_things(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[list[SoftThing], list[str]]:
    """All flexes, and notes about them."""
    things, notes = [], []
    for flex, name in enumerate(Names(model)["flex"]):
        things.append(_soft_thing(model, data, flex, name))
        if things[-1].bodies or things[-1].pinned:
            notes.append(f"soft thing {name}: exported as a rigid body of the same mass, in its shape at the start")
        else:
            notes.append(f"soft thing {name}: exported as a surface without mass, because its nodes belong to links")
        if not things[-1].solid:
            notes.append(f"soft thing {name}: a line has no collision geometry")
    return things, notes


def _soft_thing(model: mujoco.MjModel, data: mujoco.MjData, flex: int, name: str) -> SoftThing:
    nodes = model.flex_nodebodyid[_rows(model.flex_nodeadr, model.flex_nodenum, flex)]
    vertices = model.flex_vertbodyid[_rows(model.flex_vertadr, model.flex_vertnum, flex)]
    owners = {int(body) for body in (*nodes, *vertices) if body >= 0}
    own = frozenset(body for body in owners if body and _is_node(model, body))
    pinned = bool(owners - own)
    bodies = own if owners <= own | {0} else frozenset()
    masses = model.body_mass[sorted(bodies)]
    mass = float(masses.sum())
    places = (
        data.xipos[sorted(bodies)] if mass else data.flexvert_xpos[_rows(model.flex_vertadr, model.flex_vertnum, flex)]
    )
    centre = np.average(places, axis=0, weights=masses if mass else None)
    arms = places - centre
    tensor = np.zeros((3, 3))
    for body, arm in zip(sorted(bodies), arms, strict=False):
        tensor += model.body_mass[body] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        axes = data.ximat[body].reshape(3, 3)
        tensor += axes @ np.diag(model.body_inertia[body]) @ axes.T
    inertia, axes = np.linalg.eigh(tensor)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    material = int(model.flex_matid[model.flex_elemadr[flex]])
    return SoftThing(
        name=name, bodies=bodies, pinned=pinned, surface=_surface(model, data, flex, centre),
        solid=int(model.flex_dim[flex]) > 1, to_world=transform(centre), mass_kg=mass, inertia=np.maximum(inertia, 0),
        principal_quat=quaternion(axes), friction=float(model.flex_friction[flex, 0]),
        rgba=np.array(model.mat_rgba[material] if material >= 0 else model.flex_rgba[flex]),
    )  # fmt: skip


def _rows(addresses: np.ndarray, counts: np.ndarray, index: int) -> slice:
    return slice(int(addresses[index]), int(addresses[index] + counts[index]))


def _is_node(model: mujoco.MjModel, body: int) -> bool:
    """True for a body that exists only to carry a node: below the world, without geoms or children."""
    joints = model.jnt_type[_rows(model.body_jntadr, model.body_jntnum, body)] if model.body_jntnum[body] else []
    return (
        model.body_parentid[body] == 0
        and model.body_geomnum[body] == 0
        and not (model.body_parentid == body).any()
        and all(int(kind) in TRANSLATING for kind in joints)
    )


def _surface(model: mujoco.MjModel, data: mujoco.MjData, flex: int, centre: np.ndarray) -> Surface:
    vertices = data.flexvert_xpos[_rows(model.flex_vertadr, model.flex_vertnum, flex)] - centre
    dim, start = int(model.flex_dim[flex]), int(model.flex_elemdataadr[flex])
    if dim == 3:
        start = int(model.flex_shelldataadr[flex])
        corners = model.flex_shell[start : start + 3 * int(model.flex_shellnum[flex])]
        return Surface(vertices, corners.reshape(-1, 3))
    corners = model.flex_elem[start : start + (dim + 1) * int(model.flex_elemnum[flex])].reshape(-1, dim + 1)
    if dim == 2:
        return Surface(vertices, corners)
    return tube(vertices, corners, float(model.flex_radius[flex]))

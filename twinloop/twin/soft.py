"""A soft object: a block or a cloth that deforms in the grasp.

It is a flex of the engine. A block is a solid whose eight corners move and determine the rest: it stretches, shears and
compresses with 24 degrees of freedom. A cloth is a sheet across its y axis, all of whose nodes move. The pose is the
rigid pose that fits the nodes best; the residual is the deformation.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.entity import Thing

PREFIX = "soft/"
VERTICES = 3  # along each edge, for contacts and rendering
SKIN_M = 0.0005
POISSON = 0.1  # foams hardly bulge
DAMPING_S = 0.01
CLOTH_NODES = 5  # along each edge of a cloth
CLOTH_POISSON = 0.2
_HALF = 0.5**0.5  # the macro does not normalise quaternions
HIDDEN = 5  # a group of geoms that is not drawn


@dataclass(frozen=True)
class SoftIndex:
    """Indices of a soft object in a model's arrays. Nodes (the 8 corners of a block) are (k, 3) by x, y, z.

    Attributes:
        rest_m: nodes of the undeformed object, relative to its centre.
        home_m: positions of the nodes while `qpos` is 0.
    """

    flex: int
    bodies: np.ndarray
    qpos: np.ndarray
    dofs: np.ndarray
    rest_m: np.ndarray
    home_m: np.ndarray

    def nodes(self, qpos: np.ndarray) -> np.ndarray:
        """(n, k, 3) nodes in the world for (n, nq) states."""
        return qpos[:, self.qpos] + self.home_m

    def put(self, pose: np.ndarray) -> np.ndarray:
        """(n, k, 3) `qpos` of an undeformed object at (n, 7) poses."""
        return pose[:, None, :3] + turned(self.rest_m, axes_of(pose[:, 3:])) - self.home_m


def add_soft(spec: mujoco.MjSpec, thing: Thing, *, rolls: bool, several: bool) -> None:
    kind = thing.object
    contact = f"""<contact contype="{6 if several else 2}" conaffinity="{5 if several else 1}" priority="1"
        condim="{6 if rolls else 4}" selfcollide="none"
        friction="0.8 0.005 0.0002" solref="0.01 1" solimp="0.95 0.99 0.001 0.5 2"/>"""
    looks = f'mass="{kind.mass_kg}" rgba="{_text(thing.rgba)}" pos="0 0 {kind.half_extents_m[2]!r}"'
    flex = _cloth(thing, looks, contact) if kind.cloth else _block(thing, looks, contact)
    # The macro that makes nodes, joints and elements exists only in the file format.
    block = mujoco.MjSpec.from_string(f"<mujoco><worldbody>{flex}</worldbody></mujoco>")
    spec.attach(block, frame=spec.worldbody.add_frame(), prefix=PREFIX)
    # This integrates elasticity together with the contacts; otherwise steps would have to be ten times shorter.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    # The frame that fits the corners best, for images and labels. Its geom is never drawn and has no contacts; pixels
    # of the flex count as pixels of this geom.
    frame = spec.worldbody.add_body(name=thing.name, mocap=True, pos=[0, 0, kind.half_extents_m[2]])
    frame.add_geom(
        name=thing.name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=kind.half_extents_m,
        group=HIDDEN,
        contype=0,
        conaffinity=0,
    )


def _text(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def _block(thing: Thing, looks: str, contact: str) -> str:
    kind = thing.object
    spacing = 2 * (np.array(kind.half_extents_m) - SKIN_M) / (VERTICES - 1)
    return f"""<flexcomp name="{thing.name}" type="grid" dim="3" dof="trilinear" radius="{SKIN_M}" {looks}
          count="{VERTICES} {VERTICES} {VERTICES}" spacing="{_text(spacing)}">
        <elasticity young="{1000 * kind.young_kpa!r}" poisson="{POISSON}" damping="{DAMPING_S}"/>{contact}
      </flexcomp>"""


def _cloth(thing: Thing, looks: str, contact: str) -> str:
    kind = thing.object
    x, y, z = kind.half_extents_m
    spacing = (2 * x / (CLOTH_NODES - 1), 2 * z / (CLOTH_NODES - 1), 2 * z)
    # The macro makes a sheet in its x and y; a quarter of a turn about x stands it up.
    return f"""<flexcomp name="{thing.name}" type="grid" dim="2" radius="{y!r}" {looks} quat="{_HALF!r} {_HALF!r} 0 0"
          count="{CLOTH_NODES} {CLOTH_NODES} 1" spacing="{_text(spacing)}">
        <elasticity young="{1000 * kind.young_kpa!r}" poisson="{CLOTH_POISSON}" damping="{DAMPING_S}"
            thickness="{2 * y!r}" elastic2d="both"/>{contact}
      </flexcomp>"""


def soft_index(model: mujoco.MjModel, name: str) -> SoftIndex:
    flex = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_FLEX, PREFIX + name)
    start, count = int(model.flex_nodeadr[flex]), int(model.flex_nodenum[flex])
    bodies = model.flex_nodebodyid[start : start + count]
    if not count:
        start = int(model.flex_vertadr[flex])
        bodies = model.flex_vertbodyid[start : start + int(model.flex_vertnum[flex])]
    joints = model.body_jntadr[bodies][:, None] + np.arange(3)
    home = model.body_pos[bodies] - model.qpos0[model.jnt_qposadr[joints]]
    return SoftIndex(
        flex=flex,
        bodies=bodies,
        qpos=model.jnt_qposadr[joints],
        dofs=model.jnt_dofadr[joints],
        rest_m=home - home.mean(axis=0),
        home_m=home,
    )


def fitted(nodes: np.ndarray, rest_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) positions and (n, 4) quaternions of the least-squares fit of the undeformed corners to `nodes`."""
    middle = nodes.mean(axis=1)
    spread = ((nodes - middle[:, None])[:, :, :, None] * rest_m[None, :, None, :]).sum(axis=1)
    spread = np.where(np.isfinite(spread), spread, 0)
    left, _, right = np.linalg.svd(spread)
    # A reflection may fit a crushed block better than any rotation, but it is physically impossible.
    sign = np.ones((len(nodes), 3))
    sign[:, 2] = np.linalg.det(left) * np.linalg.det(right)
    axes = ((left * sign[:, None, :])[:, :, :, None] * right[:, None, :, :]).sum(axis=2)
    return middle, quaternions_of(axes)


def quaternions_of(axes: np.ndarray) -> np.ndarray:
    """(n, 4) quaternions w, x, y, z with w ≥ 0 of (n, 3, 3) rotations."""
    xx, yy, zz = (axes[:, axis, axis] for axis in range(3))
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=1)
    # Each row of 4 q qᵀ is the quaternion times one of its components; the row of the largest component is most exact.
    (wx, yz), (wy, xz), (wz, xy) = (
        (axes[:, k, j] - axes[:, j, k], axes[:, j, k] + axes[:, k, j]) for j, k in ((1, 2), (2, 0), (0, 1))
    )
    outer = np.stack([
        squares[:, 0], wx, wy, wz,
        wx, squares[:, 1], xy, xz,
        wy, xy, squares[:, 2], yz,
        wz, xz, yz, squares[:, 3],
    ], axis=1).reshape(-1, 4, 4)  # fmt: skip
    out = outer[np.arange(len(axes)), squares.argmax(axis=1)]
    out = out / np.sqrt(np.square(out).sum(axis=1, keepdims=True))
    return np.where(out[:, :1] < 0, -out, out)


def axes_of(quaternions: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations of (n, 4) quaternions w, x, y, z."""
    w, x, y, z = quaternions.T
    xx, yy, zz, xy, xz, yz, wx, wy, wz = x * x, y * y, z * z, x * y, x * z, y * z, w * x, w * y, w * z
    out = np.empty((len(quaternions), 3, 3))
    out[:, 0, 0], out[:, 0, 1], out[:, 0, 2] = 1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)
    out[:, 1, 0], out[:, 1, 1], out[:, 1, 2] = 2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)
    out[:, 2, 0], out[:, 2, 1], out[:, 2, 2] = 2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)
    return out


def turned(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(n, k, 3) points: (k, 3) points rotated by each of (n, 3, 3) rotations."""
    return (axes[:, None, :, :] * points[None, :, None, :]).sum(axis=3)

"""Points on the visible surface of a robot, and where they are for given joint positions."""

import mujoco
import numpy as np

HIDDEN_GROUP = 3
"""Geoms of this group and above are collision shapes that are not drawn."""


class RobotPoints:
    """Points spread evenly over the visible geoms of a model.

    Args:
        spacing_m: distance between neighbouring points.

    Attributes:
        moving: (n,) whether the point is on a body that joints move.
    """

    def __init__(self, model: mujoco.MjModel, joints: tuple[str, ...], *, spacing_m: float):
        self.model, self.joints = model, joints
        self._data = mujoco.MjData(model)
        self._places = np.array([model.joint(joint).qposadr[0] for joint in joints])
        points, geoms = [], []
        for geom in range(model.ngeom):
            if model.geom_group[geom] >= HIDDEN_GROUP or model.geom_rgba[geom, 3] == 0:
                continue
            own = _surface(model, geom, spacing_m)
            points.append(own)
            geoms.append(np.full(len(own), geom))
        self._local, self.geoms = np.concatenate(points), np.concatenate(geoms)
        # Bodies that are welded to the world do not move, so a film shows them as background.
        self.moving = model.body_weldid[model.geom_bodyid[self.geoms]] != 0

    @property
    def on_base(self) -> np.ndarray:
        """(joints,) whether the joint turns the whole arm: its zero looks the same as another place of the camera."""
        bodies = [self.model.joint(joint).bodyid[0] for joint in self.joints]
        return self.model.body_weldid[self.model.body_parentid[bodies]] == 0

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(f, n, 3) points in the world for (f, joints) positions."""
        data, world = self._data, np.empty((len(positions), len(self._local), 3), np.float32)
        for number, row in enumerate(positions):  # the engine poses one model at a time
            data.qpos[self._places] = row
            mujoco.mj_kinematics(self.model, data)
            axes = data.geom_xmat.reshape(-1, 3, 3)[self.geoms]
            world[number] = np.einsum("nij,nj->ni", axes, self._local) + data.geom_xpos[self.geoms]
        return world


def _surface(model: mujoco.MjModel, geom: int, spacing_m: float) -> np.ndarray:
    """(n, 3) points on a geom, in its frame."""
    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        return _mesh(model, int(model.geom_dataid[geom]), spacing_m)
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return _box(size, spacing_m)
    if kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID):
        radii = np.repeat(size[0], 3) if kind == mujoco.mjtGeom.mjGEOM_SPHERE else size
        return _sphere(4 * np.pi * float(radii.mean()) ** 2, spacing_m) * radii
    if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        return _tube(float(size[0]), float(size[1]), spacing_m, round_ends=kind == mujoco.mjtGeom.mjGEOM_CAPSULE)
    return np.empty((0, 3))


def _mesh(model: mujoco.MjModel, mesh: int, spacing_m: float) -> np.ndarray:
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
    faces = vertices[model.mesh_face[model.mesh_faceadr[mesh] :][: model.mesh_facenum[mesh]]]
    sides = faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    areas = np.linalg.norm(np.cross(*sides), axis=1) / 2
    count = max(int(areas.sum() / spacing_m**2), 8)
    # A low-discrepancy sequence over the cumulated area gives the same points in every run.
    chosen = np.searchsorted(np.cumsum(areas), (np.arange(count) + 0.5) / count * areas.sum())
    first = (np.arange(count) * 0.7548776662) % 1
    second = (np.arange(count) * 0.5698402910) % 1
    flip = first + second > 1
    first, second = np.where(flip, 1 - first, first), np.where(flip, 1 - second, second)
    return faces[chosen, 0] + first[:, None] * sides[0][chosen] + second[:, None] * sides[1][chosen]


def _box(half: np.ndarray, spacing_m: float) -> np.ndarray:
    sides = []
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        u, v = np.meshgrid(*(_steps(float(half[other]), spacing_m) for other in (first, second)))
        for sign in (-1, 1):
            side = np.empty((u.size, 3))
            side[:, axis], side[:, first], side[:, second] = sign * half[axis], u.ravel(), v.ravel()
            sides.append(side)
    return np.concatenate(sides)


def _tube(radius: float, half: float, spacing_m: float, *, round_ends: bool) -> np.ndarray:
    turns = max(int(2 * np.pi * radius / spacing_m), 6)
    angle, along = np.meshgrid(2 * np.pi * np.arange(turns) / turns, _steps(half, spacing_m))
    side = np.column_stack([radius * np.cos(angle.ravel()), radius * np.sin(angle.ravel()), along.ravel()])
    ends = _sphere(4 * np.pi * radius**2, spacing_m) * (radius if round_ends else [radius, radius, 0])
    ends[:, 2] += np.where(np.arange(len(ends)) < len(ends) / 2, -half, half)
    return np.concatenate([side, ends])


def _sphere(area: float, spacing_m: float) -> np.ndarray:
    """Points of a Fibonacci lattice on the unit sphere, ordered by z."""
    count = max(int(area / spacing_m**2), 12)
    z = -1 + (2 * np.arange(count) + 1) / count
    angle = np.pi * (3 - 5**0.5) * np.arange(count)
    flat = np.sqrt(1 - z**2)
    return np.column_stack([flat * np.cos(angle), flat * np.sin(angle), z])


def _steps(half: float, spacing_m: float) -> np.ndarray:
    return np.linspace(-half, half, max(int(2 * half / spacing_m) + 1, 2))

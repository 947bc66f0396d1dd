"""Shapes and poses of a MuJoCo model in Drake's types. Meshes become their convex hulls."""

import mujoco
import numpy as np
from pydrake.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, Shape, Sphere
from pydrake.math import RigidTransform, RotationMatrix

from twinloop.deploy.rehearsal.poses import mesh_vertices, rotation


def transform(position_m: np.ndarray, quaternion: np.ndarray) -> RigidTransform:
    unit = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return RigidTransform(RotationMatrix(rotation(unit)), np.asarray(position_m, float))


def drake_shape(model: mujoco.MjModel, geom: int) -> Shape:
    kinds, kind, size = mujoco.mjtGeom, int(model.geom_type[geom]), model.geom_size[geom]
    radius, half = float(size[0]), float(size[1])
    if kind == kinds.mjGEOM_BOX.value:
        return Box(*(2.0 * size))
    if kind == kinds.mjGEOM_CYLINDER.value:
        return Cylinder(radius, 2 * half)
    if kind == kinds.mjGEOM_CAPSULE.value:
        return Capsule(radius, 2 * half)
    if kind == kinds.mjGEOM_ELLIPSOID.value:
        return Ellipsoid(*map(float, size))
    if kind == kinds.mjGEOM_SPHERE.value:
        return Sphere(radius)
    if kind == kinds.mjGEOM_MESH.value:
        return Convex(mesh_vertices(model, geom).T, "mesh")
    raise ValueError(f"no shape for MuJoCo's geom type {kind}")

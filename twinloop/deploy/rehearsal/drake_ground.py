"""The ground of a terrain in Drake: a half space, or the part of a height field around a place as a surface mesh."""

import numpy as np
from pydrake.common import MemoryFile
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddRigidHydroelasticProperties,
    HalfSpace,
    InMemoryMesh,
    Mesh,
    ProximityProperties,
    Shape,
)

from twinloop.twin.legs.terrain import CELL_M, Terrain

HALF_M = 5.0
"""Half the side of the part that is built."""
LEAVES_M = 3.5
"""Distance from its middle at which the part around the robot is built anew."""
MODULUS_PA, RESOLUTION_M = 1.2e7, 0.02
"""Hydroelastic modulus of the robot's parts (1 mm under a quarter of the quadruped's weight), size of their meshes."""


def ground_shape(terrain: Terrain, middle_m: np.ndarray) -> Shape:
    """The ground within `HALF_M` of a place, in the frame of the world."""
    if terrain.heights_m is None:
        return HalfSpace()
    rows, columns = terrain.heights_m.shape
    reach = round(HALF_M / CELL_M)
    corner = np.array([rows - 1, columns - 1]) / 2
    first = np.clip(np.round(middle_m / CELL_M + corner).astype(int) - reach, 0, [rows - 2, columns - 2])
    heights = terrain.heights_m[first[0] : first[0] + 2 * reach + 1, first[1] : first[1] + 2 * reach + 1]
    x, y = ((start + np.arange(count) - end) * CELL_M
            for start, count, end in zip(first, heights.shape, corner, strict=True))  # fmt: skip
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    index = np.arange(1, len(points) + 1).reshape(heights.shape)  # OBJ counts from 1
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    lines = [f"v {x:.4f} {y:.4f} {z:.5f}" for x, y, z in points] + [f"f {i} {j} {k}" for i, j, k in faces]
    return Mesh(InMemoryMesh(mesh_file=MemoryFile("\n".join(lines) + "\n", ".obj", "ground")))


def with_ground(material: ProximityProperties) -> ProximityProperties:
    """The properties of ground that is a mesh."""
    properties = ProximityProperties(material)
    AddRigidHydroelasticProperties(properties)
    return properties


def on_ground(material: ProximityProperties) -> ProximityProperties:
    """The properties of parts that touch ground which is a mesh."""
    properties = ProximityProperties(material)
    AddCompliantHydroelasticProperties(RESOLUTION_M, MODULUS_PA, properties)
    return properties

"""Triangles of geoms. A shape is scaled by each instance, so one set of triangles serves all boxes.

A point of a shape with the coordinates `base` and `shift` is at scale · base + (0, 0, length · shift) in the geom's
frame. Only a capsule has shifts: its caps keep their form while its cylinder is stretched.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.stage import WALL_M

BOX_CELLS = 1
"""Cells of a side of a box along each axis."""


@dataclass(frozen=True)
class TriangleMesh:
    """n vertices and their triangles.

    Attributes:
        base: (n, 3).
        shift: (n,) along z, in units of the instance's length.
        normal: (n, 3) of the unscaled shape.
        uv: (n, 2) texture coordinates of a mesh; None where they follow from the position.
        triangles: (t, 3) counter-clockwise from outside.
        closed: back faces are never visible.
    """

    base: np.ndarray
    shift: np.ndarray
    normal: np.ndarray
    uv: np.ndarray | None
    triangles: np.ndarray
    closed: bool = True


def box() -> TriangleMesh:
    parts = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal, right = np.zeros(3), np.zeros(3)
            normal[axis], right[(axis + 1) % 3] = sign, 1.0
            parts.append(_patch(normal, right, np.cross(normal, right), BOX_CELLS))
    return _joined(parts)


def plane(cells: int) -> TriangleMesh:
    """A square of cells × cells in the plane of x and y. Light is computed at the corners of triangles."""
    part = _patch(np.array([0.0, 0, 1]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0]), cells)
    part.base[:, 2] = 0
    return part


def _patch(normal: np.ndarray, right: np.ndarray, up: np.ndarray, cells: int) -> TriangleMesh:
    """A square of cells × cells at the distance 1 along its normal."""
    steps = np.linspace(-1, 1, cells + 1)
    across, along = (values.reshape(-1, 1) for values in np.meshgrid(steps, steps))
    base = normal + across * right + along * up
    return _flat(base, np.tile(normal, (len(base), 1)), _grid(cells + 1, cells + 1))


def _grid(rows: int, columns: int) -> np.ndarray:
    """(t, 3) triangles of a grid of vertices; those of a row follow one another."""
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1, 1)
    return np.concatenate([first + np.array([0, 1, columns + 1]), first + np.array([0, columns + 1, columns])])


def cylinder(slices: int) -> TriangleMesh:
    circle = _circle(slices)
    side = np.concatenate([np.column_stack([circle, np.full(slices + 1, z)]) for z in (-1.0, 1.0)])
    normal = side * [1, 1, 0]
    parts = [_flat(side, normal, _grid(2, slices + 1))]
    for sign in (1.0, -1.0):
        rim = np.column_stack([circle[:-1], np.full(slices, sign)])
        fan = np.column_stack([np.zeros(slices - 2, int), np.arange(1, slices - 1), np.arange(2, slices)])
        parts.append(_flat(rim, np.tile([0, 0, sign], (slices, 1)), fan if sign > 0 else fan[:, ::-1]))
    return _joined(parts)


def ellipsoid(slices: int, *, split: bool = False) -> TriangleMesh:
    """A sphere of radius 1; `split` makes a capsule, whose halves are shifted along z."""
    stacks = max(slices // 2, 4)
    angles = np.linspace(-np.pi / 2, np.pi / 2, stacks + 1)
    shifts = np.sign(np.arange(stacks + 1) - stacks / 2)
    if split:
        # The equator is there twice: as the lower and as the upper rim of the cylinder.
        half = stacks // 2
        angles = np.concatenate([np.linspace(-np.pi / 2, 0, half + 1), np.linspace(0, np.pi / 2, half + 1)])
        shifts = np.repeat([-1.0, 1.0], half + 1)
    circle = _circle(slices)
    rings = [
        np.column_stack([np.cos(angle) * circle, np.full(slices + 1, np.sin(angle))]) for angle in angles
    ]  # fmt: skip
    base = np.concatenate(rings)
    shift = np.repeat(shifts, slices + 1) if split else np.zeros(len(base))
    triangles = _grid(len(angles), slices + 1)
    return TriangleMesh(base, shift, base.copy(), None, triangles)


def _circle(slices: int) -> np.ndarray:
    turn = np.linspace(0, 2 * np.pi, slices + 1)
    turn[-1] = 0  # closes exactly
    return np.column_stack([np.cos(turn), np.sin(turn)])


def mesh(model: mujoco.MjModel, number: int) -> TriangleMesh:
    """A mesh of the model, with the normals and texture coordinates of its file."""
    face, count = model.mesh_faceadr[number], model.mesh_facenum[number]
    faces = slice(face, face + count)
    corners = [model.mesh_face[faces], model.mesh_facenormal[faces]]
    textured = model.mesh_texcoordadr[number] >= 0
    if textured:
        corners.append(model.mesh_facetexcoord[faces])
    # A vertex is a combination of position, normal and texture coordinates.
    distinct, place = np.unique(np.stack(corners, axis=-1).reshape(-1, len(corners)), axis=0, return_inverse=True)
    base = model.mesh_vert[model.mesh_vertadr[number] :][distinct[:, 0]]
    normal = model.mesh_normal[model.mesh_normaladr[number] :][distinct[:, 1]]
    uv = model.mesh_texcoord[model.mesh_texcoordadr[number] :][distinct[:, 2]] if textured else None
    # The orientation of triangles in a user's file is not reliable.
    return TriangleMesh(base, np.zeros(len(base)), normal, uv, place.reshape(-1, 3), closed=False)


def height_field(model: mujoco.MjModel, number: int) -> TriangleMesh:
    """The upper surface of a height field; its geom has the scale 1."""
    rows, columns = int(model.hfield_nrow[number]), int(model.hfield_ncol[number])
    start = model.hfield_adr[number]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    half_x, half_y, top, _ = model.hfield_size[number]
    x, y = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
    slope_y, slope_x = np.gradient(heights * top, 2 * half_y / (rows - 1), 2 * half_x / (columns - 1))
    normal = np.dstack([-slope_x, -slope_y, np.ones_like(x)]).reshape(-1, 3)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return _flat(np.dstack([x, y, heights * top]).reshape(-1, 3), normal, _grid(rows, columns))


def scale_of(kind: int, size: np.ndarray) -> tuple[float, float, float, float]:
    """Scale along x, y and z, and length, of a geom of this type and size."""
    geom = mujoco.mjtGeom
    x, y, z = map(float, size)
    if kind == geom.mjGEOM_PLANE:
        # An infinite plane ends at the walls.
        return x or WALL_M, y or WALL_M, 1.0, 0.0
    if kind == geom.mjGEOM_SPHERE:
        return x, x, x, 0.0
    if kind == geom.mjGEOM_CAPSULE:
        return x, x, x, y
    if kind == geom.mjGEOM_CYLINDER:
        return x, x, y, 0.0
    if kind in (geom.mjGEOM_ELLIPSOID, geom.mjGEOM_BOX):
        return x, y, z, 0.0
    return 1.0, 1.0, 1.0, 0.0


def _flat(base: np.ndarray, normal: np.ndarray, triangles: np.ndarray) -> TriangleMesh:
    return TriangleMesh(base, np.zeros(len(base)), normal, None, triangles)


def _joined(parts: list[TriangleMesh]) -> TriangleMesh:
    starts = np.cumsum([0] + [len(part.base) for part in parts[:-1]])
    return _flat(
        np.concatenate([part.base for part in parts]),
        np.concatenate([part.normal for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts, strict=True)]),
    )

"""Levels of detail of meshes: triangles smaller than a pixel cost time and show nothing."""

import numpy as np

from twinloop.observe.tessellation import TriangleMesh

MIN_TRIANGLES = 500
"""Smaller meshes are drawn as they are."""
UV_CELLS = 64
"""Vertices are merged only if their texture coordinates differ by less than one of so many parts."""


def simplified(shape: TriangleMesh, cell_m: float) -> TriangleMesh:
    """The mesh with the vertices of every cube of this side merged, if they face the same way.

    A merged vertex is the mean of its vertices, so no point of the surface moves by more than the cube's diagonal.
    Triangles within one cube vanish.
    """
    if cell_m <= 0 or len(shape.triangles) < MIN_TRIANGLES:
        return shape
    cells = np.floor(shape.base / cell_m).astype(np.int64)
    _, place = np.unique(cells, axis=0, return_inverse=True)
    # Vertices of a sharp edge or of a seam in the texture stay apart.
    axis = np.abs(shape.normal).argmax(axis=1)
    keys = [place.ravel(), axis, np.take_along_axis(shape.normal, axis[:, None], axis=1)[:, 0] > 0]
    if shape.uv is not None:
        keys += list(np.floor(shape.uv * UV_CELLS).astype(np.int64).T)
    _, group = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
    group = group.ravel()
    triangles, corner = group[shape.triangles], place.ravel()[shape.triangles]
    flat = (corner == np.roll(corner, 1, axis=1)).any(axis=1)
    triangles = triangles[~flat]
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    count = np.bincount(group).astype(float)

    def merged(values: np.ndarray) -> np.ndarray:
        return np.column_stack([np.bincount(group, weights=column) / count for column in values.T])

    normal = merged(shape.normal)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return TriangleMesh(
        base=merged(shape.base),
        shift=np.zeros(len(count)),
        normal=normal / np.where(length > 1e-9, length, 1),
        uv=None if shape.uv is None else merged(shape.uv),
        triangles=triangles[np.sort(first)],
        closed=shape.closed,
    )

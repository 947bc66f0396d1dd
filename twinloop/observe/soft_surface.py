"""SoftSurface: the triangles of a soft object, whose vertices differ in every state."""

import mujoco
import numpy as np

from twinloop.observe.tessellation import TriangleMesh


class SoftSurface:
    """The surface of one flex of a model: a cloth has two sides, a solid has its shell."""

    def __init__(self, model: mujoco.MjModel, flex: int):
        start, count = model.flex_vertadr[flex], model.flex_vertnum[flex]
        self._vertices = slice(start, start + count)
        self._sheet = model.flex_dim[flex] == 2
        self._half_thickness_m = float(model.flex_radius[flex])
        data, first, size = (
            (model.flex_elem, model.flex_elemdataadr[flex], model.flex_elemnum[flex])
            if self._sheet
            else (model.flex_shell, model.flex_shelldataadr[flex], model.flex_shellnum[flex])
        )
        self._triangles = data[first : first + 3 * size].reshape(-1, 3)

    def shape(self, flex_vertices_m: np.ndarray) -> TriangleMesh:
        """The surface for (vertices of all flexes, 3) positions in the world."""
        points = flex_vertices_m[self._vertices]
        corners = points[self._triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        if not self._sheet:
            # Every triangle has its own vertices, so that edges of a block stay sharp.
            normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
            base = corners.reshape(-1, 3) + self._half_thickness_m * normals.repeat(3, axis=0)
            return _shape(base, normals.repeat(3, axis=0), np.arange(len(base)).reshape(-1, 3))
        smooth = np.zeros_like(points)
        for corner in range(3):
            np.add.at(smooth, self._triangles[:, corner], normals)
        smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-12)
        shift = self._half_thickness_m * smooth
        return _shape(
            np.concatenate([points + shift, points - shift]),
            np.concatenate([smooth, -smooth]),
            np.concatenate([self._triangles, self._triangles[:, ::-1] + len(points)]),
        )


def _shape(base: np.ndarray, normal: np.ndarray, triangles: np.ndarray) -> TriangleMesh:
    return TriangleMesh(base, np.zeros(len(base)), normal, None, triangles)

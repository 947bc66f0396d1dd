"""MeshAsset: a user's mesh of a thing, checked, with mass properties and convex parts for contacts."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.meshes.convex_parts import ConvexPart, convex_parts, hull_of
from twinloop.twin.meshes.mesh_file import Triangles, read_triangles

SMALLEST_M, LARGEST_M = 0.005, 1.0
"""Longest side of a thing on a table. A mesh in another unit is a hundred or a thousand times larger or smaller."""

LIKELY_M = (0.01, 0.5)
UNITS_M = {"millimetres": 0.001, "centimetres": 0.01, "inches": 0.0254, "metres": 1.0}
WELD = 1e-6  # vertices closer than this share of the diagonal are one vertex
FLATTEST = 1e-6  # volume of the mesh over the volume of the box around it


@dataclass(frozen=True)
class MeshAsset:
    """A mesh in metres, in the frame of its file.

    Attributes:
        vertices: (n, 3).
        faces: (m, 3) vertex indices, counter-clockwise seen from outside.
        hulls: convex parts that together cover the mesh, for contacts.
        extents_m: (3,) lengths of the box around it.
        volume_m3: enclosed volume; that of its convex hull if the mesh is open.
        closed: True if the mesh encloses a volume.
        centre_m: (3,) centre of mass for a uniform density.
        inertia_m5: (3, 3) inertia about the centre of mass for a density of 1 kg/m³.
    """

    vertices: np.ndarray
    faces: np.ndarray
    hulls: tuple[ConvexPart, ...]
    extents_m: np.ndarray
    volume_m3: float
    closed: bool
    centre_m: np.ndarray
    inertia_m5: np.ndarray


def load_mesh(path: Path | str, scale: float = 1.0, *, root: Path, closed: bool = True) -> MeshAsset:
    """Load the mesh of a thing.

    Args:
        path: an OBJ or STL file in the folder `root`, relative to it.
        scale: metres per unit of the file.
        root: folder of the config.
        closed: refuse a mesh with holes. An open mesh counts as its convex hull.

    Raises:
        ModelError: the file is not readable, has holes, or has a size that no thing on a table has.
    """
    path = Path(path)
    if not (np.isfinite(scale) and scale > 0):
        raise ModelError(f"{path}: scale is {scale}; a positive number was expected, e.g. 0.001 for millimetres")
    vertices, faces = _welded(*read_triangles(path, Path(root)))
    _refuse_scale(path, vertices, scale)
    vertices = vertices * scale
    problem = _opening(vertices, faces)
    if problem and closed:
        raise ModelError(f"{path}: is not closed, so it has no volume: {problem}")
    extents = np.ptp(vertices, axis=0)
    if problem:
        hulls = (hull_of(vertices),)
        volume, centre, inertia = mass_properties(hulls[0].vertices, hulls[0].faces)
    else:
        volume, centre, inertia = mass_properties(vertices, faces)
        if volume < 0:
            # All faces point inwards.
            faces, volume, inertia = faces[:, ::-1], -volume, -inertia
        if volume <= FLATTEST * float(np.prod(np.maximum(extents, 1e-9))):
            raise ModelError(f"{path}: is flat: it encloses {volume:.2g} m³; give the mesh a thickness")
        hulls = convex_parts(vertices, faces)
    return MeshAsset(vertices, faces, hulls, extents, volume, not problem, centre, inertia)


def _welded(vertices: np.ndarray, faces: np.ndarray) -> Triangles:
    """The mesh with vertices in the same place joined, and without faces that have no area or are there twice."""
    step = max(float(np.linalg.norm(np.ptp(vertices, axis=0))), 1e-300) * WELD
    _, first, place = np.unique(np.round(vertices / step), axis=0, return_index=True, return_inverse=True)
    faces = place.reshape(-1)[faces]
    different = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[different]
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[first[used]], faces.reshape(-1, 3)


def _refuse_scale(path: Path, vertices: np.ndarray, scale: float) -> None:
    longest = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if longest <= 0:
        raise ModelError(f"{path}: all vertices are in one place; export the mesh again")
    if SMALLEST_M <= longest * scale <= LARGEST_M:
        return
    likely = {unit: metres for unit, metres in UNITS_M.items() if LIKELY_M[0] <= longest * metres <= LIKELY_M[1]}
    advice = " or ".join(
        f"{unit} (scale: {metres:g} makes it {1000 * longest * metres:.3g} mm)"
        for unit, metres in sorted(likely.items(), key=lambda item: abs(np.log(longest * item[1] / 0.08)))
    )
    raise ModelError(
        f"{path}: with scale {scale:g} its longest side is {longest * scale:.3g} m; a thing on a table has "
        f"{SMALLEST_M:g} to {LARGEST_M:g} m. "
        + (f"The file is probably in {advice}." if advice else "Give the scale in metres per unit of the file.")
    )


FILL = (
    "fill the holes and make all faces point outwards (Blender: Mesh > Clean Up > Fill Holes, then Mesh > Normals > "
    "Recalculate Outside)"
)
SEPARATE = (
    "remove faces inside of the solid, and move parts that touch in an edge apart or join them (Blender: Select > All "
    "by Trait > Non Manifold shows them)"
)


def _opening(vertices: np.ndarray, faces: np.ndarray) -> str:
    """The fault of a mesh that is not closed and its remedy, in words; "" for a closed one."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    directed = Counter(map(tuple, edges.tolist()))
    sides = Counter(tuple(sorted(edge)) for edge in edges.tolist())
    faults = (
        ("one face only", FILL, [edge for edge, number in sides.items() if number == 1]),
        ("more than two faces", SEPARATE, [edge for edge, number in sides.items() if number > 2]),
    )
    for fault, remedy, bad in faults:
        if bad:
            place = ", ".join(f"{value:.4g}" for value in vertices[list(bad[0])].mean(axis=0))
            belong = "edge belongs" if len(bad) == 1 else "edges belong"
            return f"{len(bad)} {belong} to {fault}, one of them at ({place}) m; {remedy}"
    turned = sum(number > 1 for number in directed.values())
    return f"{turned} pairs of neighbouring faces point to opposite sides; {FILL}" if turned else ""


def mass_properties(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre of mass and inertia about it, for a density of 1, of a closed mesh.

    The sum over tetrahedra between the origin and each face; parts that are counted outside cancel.
    """
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    if volume == 0:
        return 0.0, vertices.mean(axis=0), np.zeros((3, 3))
    centre = (volumes[:, None] * (a + b + c)).sum(axis=0) / 4 / volume
    # Second moments of a tetrahedron with one corner at the origin: V/20 (Σ pᵢpᵢᵀ + s sᵀ), s = Σ pᵢ.
    total = a + b + c
    moments = sum(np.einsum("i,ij,ik->jk", volumes, point, point) for point in (a, b, c, total)) / 20
    moments = moments - volume * np.outer(centre, centre)
    return volume, centre, np.trace(moments) * np.eye(3) - moments

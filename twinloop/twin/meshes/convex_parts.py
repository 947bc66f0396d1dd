"""Convex parts: cover a mesh with a few convex hulls, so that contacts follow its hollows.

The solid is filled with voxels and cut by planes, again and again: always the part whose hull has the most empty space,
where the cut removes most of it. The hull of a part is that of the mesh between the part's planes, so no part is larger
than the convex hull of the mesh there. The result depends on the mesh alone.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy  # its parts are imported when they are used

MOST_PARTS = 16
GRID = 32  # voxels along the longest side
ENOUGH = 0.03
"""Share of the solid's volume that the hulls may have in excess, in all."""

MOST_VERTICES = 128
"""Vertices of one hull. More make contacts slower and hardly different."""

GAP = 1e-3
"""Distance of a part from the plane of its cut, in voxels. Faces in the plane belong to the part that they bound."""

SNAP = 0.75  # voxels

OFFSETS = (0.5137, 0.5071, 0.5093)
"""Where in its voxel a sample is: not in the middle, because rays through edges of a mesh are counted twice."""

NORMALS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]]
)
"""Directions of the cutting planes."""


@dataclass(frozen=True)
class ConvexPart:
    """A closed convex mesh: (n, 3) vertices and (m, 3) faces, counter-clockwise seen from outside."""

    vertices: np.ndarray
    faces: np.ndarray


@dataclass(frozen=True)
class _Piece:
    """Voxels of the solid between some planes.

    Attributes:
        planes: (normal, bound): points p of the piece have normal · p > bound, in voxels.
        voxels: (n, 3) centres.
        shell: (n,) voxels at the surface of the solid, which determine the hull.
        excess: empty volume of their hull.
    """

    planes: tuple[tuple[np.ndarray, float], ...]
    voxels: np.ndarray
    shell: np.ndarray
    excess: float


def convex_parts(vertices: np.ndarray, faces: np.ndarray, *, most: int = MOST_PARTS) -> tuple[ConvexPart, ...]:
    """Convex parts of a closed mesh, at most `most`."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    pitch = float((high - low).max()) / GRID
    shape = np.maximum(np.ceil((high - low) / pitch - 1e-6).astype(int), 1)
    places = (vertices - low) / pitch
    filled = _filled(places, faces, shape)
    inside = np.argwhere(filled) + 0.5
    whole = hull_of(vertices)
    if len(inside) < 8 or scipy.spatial.ConvexHull(whole.vertices).volume / pitch**3 < (1 + ENOUGH) * len(inside):
        return (whole,)
    marks = [np.unique(np.round(places @ normal, 6)) for normal in NORMALS]
    pieces = [_piece((), inside, _is_shell(filled))]
    while len(pieces) < most and sum(piece.excess for piece in pieces) > ENOUGH * len(inside):
        worst = max(range(len(pieces)), key=lambda index: pieces[index].excess)
        halves = _best_cut(pieces[worst], marks)
        if halves is None:
            break
        pieces[worst : worst + 1] = halves
    corners = (
        np.vstack([_clipped(places, faces, piece.planes), _meetings(piece.planes, places[faces])]) for piece in pieces
    )
    return tuple(hull_of(low + pitch * points) for points in corners if len(points) > 3)


def _filled(places: np.ndarray, faces: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """(x, y, z) which voxels are inside: a column of voxels is inside between its crossings of the surface.

    Args:
        places: vertices in voxels.
    """
    corners = (places - np.array(OFFSETS))[faces]
    first = np.maximum(np.ceil(corners[:, :, :2].min(axis=1)).astype(int), 0)
    last = np.minimum(np.floor(corners[:, :, :2].max(axis=1)).astype(int), shape[:2] - 1)
    spans = np.maximum(last - first + 1, 0)
    counts = spans[:, 0] * spans[:, 1]
    face = np.repeat(np.arange(len(faces)), counts)
    order = np.arange(len(face)) - np.repeat(np.cumsum(counts) - counts, counts)
    x = first[face, 0] + order // np.maximum(spans[face, 1], 1)
    y = first[face, 1] + order % np.maximum(spans[face, 1], 1)
    a, b, c = (corners[face, corner] for corner in range(3))
    # Barycentric coordinates of the column in the face, seen from above.
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    flat = np.abs(area) < 1e-12
    area = np.where(flat, 1.0, area)
    u = ((x - a[:, 0]) * (c[:, 1] - a[:, 1]) - (y - a[:, 1]) * (c[:, 0] - a[:, 0])) / area
    v = ((b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x - a[:, 0])) / area
    hit = ~flat & (u >= 0) & (v >= 0) & (u + v <= 1)
    height = (a[:, 2] + u * (b[:, 2] - a[:, 2]) + v * (c[:, 2] - a[:, 2]))[hit]
    level = np.clip(np.ceil(height).astype(int), 0, shape[2])
    crossings = np.zeros((*shape[:2], shape[2] + 1), int)
    # Seen from below, an upward face is left and a downward one is entered.
    np.add.at(crossings, (x[hit], y[hit], level), np.where(area[hit] > 0, -1, 1))
    return np.cumsum(crossings, axis=2)[:, :, : shape[2]] > 0


def _is_shell(filled: np.ndarray) -> np.ndarray:
    """Which of the filled voxels have an empty neighbour."""
    padded = np.pad(filled, 1)
    neighbours = [np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for step in (-1, 1)]
    return ~np.logical_and.reduce(neighbours)[filled]


def _piece(planes: tuple[tuple[np.ndarray, float], ...], voxels: np.ndarray, shell: np.ndarray) -> _Piece:
    """A piece with the volume of its hull that is not filled, in voxels."""
    surface = voxels[shell] if shell.any() else voxels
    # The farthest corner of the farthest voxel in each direction.
    corners = surface[(surface @ _DIRECTIONS.T).argmax(axis=0)] + np.sign(_DIRECTIONS) / 2
    corners = np.unique(corners, axis=0)
    return _Piece(planes, voxels, shell, max(float(scipy.spatial.ConvexHull(corners).volume) - len(voxels), 0.0))


def _best_cut(piece: _Piece, marks: list[np.ndarray]) -> list[_Piece] | None:
    """The two halves of the cut that leaves least empty space; None if the piece cannot be cut.

    Args:
        marks: heights of the mesh's vertices along each of the normals.
    """
    best: list[_Piece] | None = None
    for normal, heights_of_vertices in zip(NORMALS, marks, strict=True):
        heights = piece.voxels @ normal
        for level in _levels(heights, heights_of_vertices):
            below = heights < level
            if below.all() or not below.any():
                continue
            halves = [
                _piece((*piece.planes, (-normal, -level + GAP)), piece.voxels[below], piece.shell[below]),
                _piece((*piece.planes, (normal, level + GAP)), piece.voxels[~below], piece.shell[~below]),
            ]
            if best is None or sum(half.excess for half in halves) < sum(half.excess for half in best) - 1e-9:
                best = halves
    return best


def _levels(heights: np.ndarray, marks: np.ndarray) -> list[float]:
    """Where to cut: between the layers whose cross-sections differ most, and at quarters.

    A level moves to the nearest vertex of the mesh, because a cut beside a face would leave a sliver of it.
    """
    layers, counts = np.unique(heights, return_counts=True)
    if len(layers) < 2:
        return []
    between = (layers[1:] + layers[:-1]) / 2
    steepest = np.argsort(-np.abs(np.diff(counts)), kind="stable")[:3]
    even = np.round(np.array([0.25, 0.5, 0.75]) * (len(between) - 1)).astype(int)
    levels = between[sorted({*steepest.tolist(), *even.tolist()})]
    nearest = marks[np.abs(levels[:, None] - marks).argmin(axis=1)]
    return np.unique(np.where(np.abs(nearest - levels) <= SNAP, nearest, levels)).tolist()


def _clipped(places: np.ndarray, faces: np.ndarray, planes: tuple[tuple[np.ndarray, float], ...]) -> np.ndarray:
    """Corners of the mesh's faces after they are cut by planes, in voxels."""
    triangles, polygons = places[faces], []
    for normal, bound in planes:
        kept = triangles @ normal >= bound
        whole, crossing = kept.all(axis=1), kept.any(axis=1)
        polygons += list(triangles[crossing & ~whole])
        polygons = [part for polygon in polygons if len(part := _cut(polygon, normal, bound))]
        triangles = triangles[whole]
    return np.unique(np.vstack([triangles.reshape(-1, 3), *polygons]), axis=0)


def _meetings(planes: tuple[tuple[np.ndarray, float], ...], triangles: np.ndarray) -> np.ndarray:
    """Points inside the solid where three planes of a piece meet: corners of the piece that are not on the surface."""
    points = []
    for three in combinations(planes, 3):
        normals, bounds = np.array([normal for normal, _ in three]), np.array([bound for _, bound in three])
        if abs(np.linalg.det(normals)) < 0.5:
            continue
        point = np.linalg.solve(normals, bounds)
        within = all(normal @ point >= bound - GAP for normal, bound in planes)
        # A little inside the piece, so that a corner on a face of the solid counts only if the solid is on this side;
        # and by different distances, so that the ray does not meet an edge of a symmetric mesh.
        if within and _is_inside(np.linalg.solve(normals, bounds + GAP * np.array([17.3, 23.1, 31.7])), triangles):
            points.append(point)
    return np.array(points).reshape(-1, 3)


def _is_inside(point: np.ndarray, triangles: np.ndarray) -> bool:
    """True if a point is in the solid: the ray upwards leaves it once more often than it enters it."""
    a, b, c = (triangles[:, corner, :2] - point[:2] for corner in range(3))
    sides = np.stack([one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0] for one, other in ((a, b), (b, c), (c, a))])
    hit = (sides > 0).all(axis=0) | (sides < 0).all(axis=0)
    area = sides.sum(axis=0)[hit]
    # Each side's area is the weight of the corner opposite to it.
    heights = (sides[[1, 2, 0]][:, hit] * triangles[hit, :, 2].T).sum(axis=0) / area
    return bool(np.sign(area[heights > point[2]]).sum() > 0)


def _cut(polygon: np.ndarray, normal: np.ndarray, bound: float) -> np.ndarray:
    """The part of a polygon on the positive side of a plane."""
    height = polygon @ normal - bound
    kept = height >= 0
    if kept.all():
        return polygon
    if not kept.any():
        return polygon[:0]
    following, ahead = np.roll(polygon, -1, axis=0), np.roll(height, -1)
    crossing = kept != np.roll(kept, -1)
    share = height[crossing] / (height[crossing] - ahead[crossing])
    met = polygon[crossing] + share[:, None] * (following - polygon)[crossing]
    # The order of the corners: each crossing follows the corner where its side begins.
    order = np.argsort(np.concatenate([np.flatnonzero(kept), np.flatnonzero(crossing) + 0.5]))
    return np.vstack([polygon[kept], met])[order]


def hull_of(points: np.ndarray) -> ConvexPart:
    """The convex hull of points; of flat ones, a thin layer."""
    try:
        hull = scipy.spatial.ConvexHull(points)
    except (scipy.spatial.QhullError, ValueError):
        thickness = max(1e-4, 1e-3 * float(np.ptp(points, axis=0).max()))
        points = (points[:, None, :] + _CORNERS * thickness / 2).reshape(-1, 3)
        hull = scipy.spatial.ConvexHull(points)
    if len(hull.vertices) > MOST_VERTICES:
        points = points[np.unique((points @ _DIRECTIONS.T).argmax(axis=0))]
        hull = scipy.spatial.ConvexHull(points)
    order = np.zeros(len(points), int)
    order[hull.vertices] = np.arange(len(hull.vertices))
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    faces = np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices)
    return ConvexPart(points[hull.vertices], order[faces])


def _spread(count: int) -> np.ndarray:
    """(count, 3) directions: along the axes, and evenly spread over the sphere."""
    number = np.arange(count - 6) + 0.5
    height, turn = 1 - 2 * number / (count - 6), np.pi * (1 + np.sqrt(5)) * number
    across = np.sqrt(1 - height**2)
    return np.vstack([np.eye(3), -np.eye(3), np.column_stack([across * np.cos(turn), across * np.sin(turn), height])])


_CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
_DIRECTIONS = _spread(MOST_VERTICES)

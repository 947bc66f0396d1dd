"""Surface: triangles of a mesh or of a tessellated primitive, and its text in the OBJ format."""

from dataclasses import dataclass

import mujoco
import numpy as np

SIDES = 32  # of a tessellated round shape


@dataclass(frozen=True)
class Surface:
    """Triangles. Corner arrays are (faces, 3, ...): one value for each corner of each triangle.

    Attributes:
        vertices: (n, 3) in metres.
        faces: (m, 3) vertex indices, counter-clockwise seen from outside.
    """

    vertices: np.ndarray
    faces: np.ndarray
    corner_normals: np.ndarray | None = None
    corner_texcoords: np.ndarray | None = None


def obj_text(surface: Surface) -> str:
    """The surface as a Wavefront OBJ file."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in surface.vertices]
    corners = [surface.faces.astype(int) + 1]
    if surface.corner_texcoords is not None:
        # Texture coordinates of OBJ count upwards, those of the engine downwards.
        values, indices = _indexed(surface.corner_texcoords)
        lines += [f"vt {u:.9g} {1 - v:.9g}" for u, v in values]
        corners.append(indices)
    if surface.corner_normals is not None:
        values, indices = _indexed(surface.corner_normals)
        lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in values]
        corners.append(indices)
    separator = "//" if surface.corner_texcoords is None and surface.corner_normals is not None else "/"
    for face in np.stack(corners, axis=-1):
        lines.append("f " + " ".join(separator.join(map(str, corner)) for corner in face))
    return "\n".join(lines) + "\n"


def _indexed(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unique values of a corner array, and the index of each corner's value, from 1."""
    unique, indices = np.unique(values.reshape(-1, values.shape[-1]), axis=0, return_inverse=True)
    return unique, indices.reshape(values.shape[:-1]) + 1


def hull_of(model: mujoco.MjModel, mesh: int) -> Surface | None:
    """The convex hull that the engine uses for contacts, in the frame of the compiled mesh."""
    start = int(model.mesh_graphadr[mesh])
    if start < 0:
        return None
    graph = model.mesh_graph
    vertices, faces = int(graph[start]), int(graph[start + 1])
    places = graph[start + 2 + vertices : start + 2 + 2 * vertices]
    first = start + 2 + 3 * vertices + 3 * faces
    corners = graph[first : first + 3 * faces].reshape(faces, 3)
    offset = int(model.mesh_vertadr[mesh])
    order = {int(vertex): index for index, vertex in enumerate(places)}
    indices = np.array([[order[int(vertex)] for vertex in face] for face in corners])
    return Surface(model.mesh_vert[offset + places].astype(float), indices)


def ellipsoid(radii: np.ndarray) -> Surface:
    """A closed ellipsoid with its vertices on the surface."""
    rings = SIDES // 2
    polar = np.linspace(0, np.pi, rings + 1)[1:-1]
    turn = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    middle = [np.column_stack([np.sin(angle) * ring, np.full(SIDES, np.cos(angle))]) for angle in polar]
    vertices = np.vstack([[[0, 0, 1]], *middle, [[0, 0, -1]]]) * radii
    return Surface(vertices, _ring_faces(rings - 1, SIDES))


def _ring_faces(rings: int, sides: int) -> np.ndarray:
    """Faces between a top vertex, `rings` rings of `sides` vertices and a bottom vertex."""
    here, there = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = [np.column_stack([np.zeros(sides, int), 1 + here, 1 + there])]
    for ring in range(rings - 1):
        upper, lower = 1 + ring * sides, 1 + (ring + 1) * sides
        faces.append(np.column_stack([upper + here, lower + here, lower + there]))
        faces.append(np.column_stack([upper + here, lower + there, upper + there]))
    last, bottom = 1 + (rings - 1) * sides, 1 + rings * sides
    faces.append(np.column_stack([last + here, np.full(sides, bottom), last + there]))
    return np.vstack(faces)


def height_field(model: mujoco.MjModel, hfield: int) -> Surface:
    """The upper surface of a height field."""
    rows, columns = int(model.hfield_nrow[hfield]), int(model.hfield_ncol[hfield])
    start, (x, y, top, _) = int(model.hfield_adr[hfield]), model.hfield_size[hfield]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    across, along = np.meshgrid(np.linspace(-x, x, columns), np.linspace(-y, y, rows))
    vertices = np.stack([across, along, top * heights], axis=-1).reshape(-1, 3)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.vstack(
        [
            np.column_stack([corner, corner + 1, corner + columns + 1]),
            np.column_stack([corner, corner + columns + 1, corner + columns]),
        ]
    )
    return Surface(vertices, faces)


def textured_rectangle(half_x: float, half_y: float, repeats: np.ndarray) -> Surface:
    """A rectangle in the plane z = 0, seen from above, with a texture that repeats along x and y."""
    vertices = np.array([[-half_x, -half_y, 0], [half_x, -half_y, 0], [half_x, half_y, 0], [-half_x, half_y, 0]])
    return _projected(vertices, np.array([[0, 1, 2], [0, 2, 3]]), np.array([half_x, half_y]), repeats)


def textured_box(half: np.ndarray, repeats: np.ndarray) -> Surface:
    """A box with a texture that is projected along z, as the engine does."""
    signs = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)])
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    faces = np.array([triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))])
    return _projected(signs * half, faces, half[:2], repeats)


def _projected(vertices: np.ndarray, faces: np.ndarray, half: np.ndarray, repeats: np.ndarray) -> Surface:
    coordinates = repeats * (vertices[:, :2] / (2 * half) + 0.5)
    return Surface(vertices, faces, corner_texcoords=coordinates[faces])


def tube(points: np.ndarray, segments: np.ndarray, radius: float, *, sides: int = 8) -> Surface:
    """A closed prism around each segment between two points."""
    turn = 2 * np.pi * np.arange(sides) / sides
    vertices, faces = [], []
    for number, (first, second) in enumerate(segments):
        along = points[second] - points[first]
        length = np.linalg.norm(along)
        along = along / length if length > 0 else np.array([0.0, 0, 1])
        across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        across = across / np.linalg.norm(across)
        ring = radius * (np.cos(turn)[:, None] * across + np.sin(turn)[:, None] * np.cross(along, across))
        vertices += [points[[second]], points[second] + ring, points[first] + ring, points[[first]]]
        faces.append(_ring_faces(2, sides) + number * (2 * sides + 2))
    return Surface(np.vstack(vertices), np.vstack(faces))

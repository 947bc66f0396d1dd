"""Convex parts for the fingers of a user's robot.

The engine collides with the convex hull of a mesh. The hull of a jaw or of an L-shaped finger fills the space in which
it grips, so a finger's mesh is replaced by convex parts.
"""

import io
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from twinloop.twin.meshes.convex_parts import ConvexPart, convex_parts, hull_of
from twinloop.twin.meshes.mesh_asset import mass_properties
from twinloop.twin.robot_files.model_cache import key_of, read_entry, write_entry
from twinloop.twin.robot_files.model_source import ModelSource

MOST_PARTS = 8
HOLLOW = 1.25
"""A mesh is divided if its hull has this many times its volume."""
FINE_FACES, LATTICE = 3000, 100
HIDDEN_GROUP = 3
ENTRY, KINDS = "parts-1", ("vertices", "faces")
"""Name of entries in the cache, to be changed with the method; and the arrays of a part."""
MESH = mujoco.mjtGeom.mjGEOM_MESH
COPIED = ("contype", "conaffinity", "condim", "friction", "solref", "solimp", "solmix", "margin", "gap", "priority")


@dataclass(frozen=True)
class _DividedGeom:
    """The convex parts of one geom of a body, in the frame of the body. place: of the geom among those of the body."""

    body: str
    place: int
    parts: tuple[ConvexPart, ...]


_DIVIDED: OrderedDict[tuple, tuple[_DividedGeom, ...]] = OrderedDict()
MOST_REMEMBERED = 16


def divide_fingers(spec: mujoco.MjSpec, fingers: tuple[str, ...], source: ModelSource) -> None:
    """Replace hollow meshes of the fingers by convex parts for contacts; what is seen stays as it is."""
    bodies = [body for body in (spec.body(name) for name in fingers) if body is not None]
    # A finger with pads of other shapes touches things with these.
    bare = tuple(body.name for body in bodies if {geom.type for geom in body.geoms if _touches(geom)} == {MESH})
    if not bare:
        return
    key = (source.path.resolve(), source.path.stat().st_mtime_ns, bare)
    if key not in _DIVIDED:
        _DIVIDED[key] = tuple(_divided(spec.copy().compile(), bare))
        if len(_DIVIDED) > MOST_REMEMBERED:
            _DIVIDED.popitem(last=False)
    for geom in _DIVIDED[key]:
        _replace(spec, spec.body(geom.body), geom)


def _touches(geom: mujoco.MjsGeom) -> bool:
    return bool(geom.contype or geom.conaffinity)


def _divided(model: mujoco.MjModel, fingers: tuple[str, ...]) -> list[_DividedGeom]:
    out = []
    for name in fingers:
        body = model.body(name).id
        first = int(model.body_geomadr[body])
        for place in range(int(model.body_geomnum[body])):
            geom = first + place
            mesh = int(model.geom_dataid[geom])
            if model.geom_type[geom] != MESH.value or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            vertices, faces = _mesh_of(model, mesh)
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
            placed = vertices @ turn.reshape(3, 3).T + model.geom_pos[geom]
            parts = _parts_of(placed.tobytes(), faces.tobytes())
            if len(parts) > 1:
                out.append(_DividedGeom(name, place, parts))
    return out


def _mesh_of(model: mujoco.MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return model.mesh_vert[start : start + count].astype(float), model.mesh_face[face : face + faces].astype(np.int64)


@lru_cache(maxsize=64)
def _parts_of(vertices: bytes, faces: bytes) -> tuple[ConvexPart, ...]:
    key = key_of(ENTRY, (vertices, faces))
    parts = _read_parts(read_entry(key))
    if parts is None:
        parts = _computed_parts(vertices, faces)
        write_entry(key, _written_parts(parts))
    return parts


def _written_parts(parts: tuple[ConvexPart, ...]) -> bytes:
    file = io.BytesIO()
    arrays = {f"{kind}{number}": getattr(part, kind) for number, part in enumerate(parts) for kind in KINDS}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _read_parts(content: bytes | None) -> tuple[ConvexPart, ...] | None:
    if content is None:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            count = len(arrays.files) // len(KINDS)
            return tuple(ConvexPart(*(arrays[f"{kind}{number}"] for kind in KINDS)) for number in range(count))
    except (ValueError, KeyError, OSError, zipfile.BadZipFile):  # half an entry, or another version's
        return None


def _computed_parts(vertices: bytes, faces: bytes) -> tuple[ConvexPart, ...]:
    points, corners = np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(faces, np.int64).reshape(-1, 3)
    hull = hull_of(points)
    solid, filled = (abs(mass_properties(*shape)[0]) for shape in ((points, corners), (hull.vertices, hull.faces)))
    # The volume of a mesh that is not closed says nothing; its voxels would not either.
    if not 0.02 * filled < solid * HOLLOW < filled:
        return (hull,)
    return convex_parts(*_coarser(points, corners), most=MOST_PARTS)


def _coarser(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mesh of many faces with its vertices moved to a lattice, which takes a tenth of the time."""
    if len(faces) < FINE_FACES:
        return vertices, faces
    step = float(np.ptp(vertices, axis=0).max()) / LATTICE
    places, index = np.unique(np.round(vertices / step), axis=0, return_inverse=True)
    moved = index.reshape(-1)[faces]
    area = (moved[:, 0] != moved[:, 1]) & (moved[:, 1] != moved[:, 2]) & (moved[:, 2] != moved[:, 0])
    return places * step, moved[area]


def _replace(spec: mujoco.MjSpec, body: mujoco.MjsBody, divided: _DividedGeom) -> None:
    whole = body.geoms[divided.place]
    for number, part in enumerate(divided.parts):
        name = f"twinloop_{divided.body}_{divided.place}_{number}".replace("/", "_")
        spec.add_mesh(
            name=name, uservert=part.vertices.reshape(-1).astype(np.float32),
            userface=part.faces.reshape(-1).astype(np.int32), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )  # fmt: skip
        touching = {key: getattr(whole, key) for key in COPIED}
        body.add_geom(name=name, type=MESH, meshname=name, mass=0, group=HIDDEN_GROUP, **touching)
    whole.contype = whole.conaffinity = 0

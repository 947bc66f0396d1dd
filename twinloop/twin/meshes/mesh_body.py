"""MeshBody: a user's mesh as a body: convex parts for contacts, surfaces for images, and mass properties."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import ModelError
from twinloop.twin.meshes.convex_parts import ConvexPart
from twinloop.twin.meshes.mesh_asset import MeshAsset, load_mesh
from twinloop.twin.meshes.mesh_file import MOST_BYTES, inside, read_triangles
from twinloop.twin.meshes.mesh_look import RGBA, MeshSurface, read_surfaces
from twinloop.twin.objects import SceneObject

DENSITY_KG_M3 = 1000.0
"""Density of a mesh whose mass is not given: that of water, and of most plastics."""

UPRIGHT = {"z": np.eye(3), "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])}
"""Axis of the file that points up -> rotation from the file to the body, whose z axis points up."""

GREY = (0.7, 0.7, 0.72, 1.0)
HIDDEN = 5  # a group of geoms that is not drawn
UNSEEN = (0.5, 0.5, 0.52, 1.0)
MESH = mujoco.mjtGeom.mjGEOM_MESH


@dataclass(frozen=True, eq=False)
class MeshBody:
    """A mesh with its origin in the middle of the box around it, z up. Two bodies are equal if their digests are.

    Attributes:
        source: name of the file, for messages.
        digest: SHA-256 of the mesh, its textures, and its scale and orientation.
        vertices, faces: the closed mesh, in metres.
        hulls: convex parts for contacts.
        surfaces: what cameras see.
        volume_m3: enclosed volume.
        centre_m: (3,) centre of mass.
        inertia_m2: (3, 3) inertia about the centre of mass of a mass of 1 kg.
    """

    source: str
    digest: str
    vertices: np.ndarray
    faces: np.ndarray
    hulls: tuple[ConvexPart, ...]
    surfaces: tuple[MeshSurface, ...] = field(repr=False)
    volume_m3: float
    centre_m: np.ndarray
    inertia_m2: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshBody) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def half_extents_m(self) -> tuple[float, float, float]:
        x, y, z = np.ptp(self.vertices, axis=0) / 2
        return float(x), float(y), float(z)

    @property
    def has_materials(self) -> bool:
        """Whether the file gives a colour or an image."""
        return any(surface.material.rgba is not None for surface in self.surfaces)

    @property
    def rgba(self) -> RGBA:
        """Colour of the largest surface that has one."""
        coloured = [surface for surface in self.surfaces if surface.material.rgba is not None]
        largest = max(coloured, key=lambda surface: len(surface.corners), default=None)
        return GREY if largest is None or largest.material.rgba is None else largest.material.rgba


def mesh_object(
    path: Path, root: Path, *, scale: float = 1.0, up: str = "z", mass_kg: float | None = None,
    density_kg_m3: float = DENSITY_KG_M3,
) -> SceneObject:  # fmt: skip
    """The object of a mesh file. It is called by the name of its file.

    Args:
        root: folder that the file and its textures must lie in.
        scale: metres per unit of the file.
        up: the axis of the file that points up.
        mass_kg: its mass; without it, the density times the enclosed volume.

    Raises:
        ModelError: the file or its materials cannot be used; the message names the file and the remedy.
    """
    body = _load(inside(path, root), root.resolve(), scale, up)
    return SceneObject(
        name=path.stem.replace("_", " ").strip() or "thing",
        shape="box",
        half_extents_m=body.half_extents_m,
        yaw_symmetry_rad=np.pi,
        mass_kg=round(density_kg_m3 * body.volume_m3, 6) if mass_kg is None else mass_kg,
        rgba=body.rgba,
        mesh=body,
    )


_ASSETS: OrderedDict[tuple[str, float], MeshAsset] = OrderedDict()
"""(content of the file, scale) -> its mesh. Convex parts take seconds, so a process makes them once."""
MOST_ASSETS = 16


def _asset(path: Path, root: Path, scale: float, content: str) -> MeshAsset:
    key = (content, scale)
    if key not in _ASSETS:
        _ASSETS[key] = load_mesh(path, scale, root=root)
        if len(_ASSETS) > MOST_ASSETS:
            _ASSETS.popitem(last=False)
    return _ASSETS[key]


def _load(path: Path, root: Path, scale: float, up: str) -> MeshBody:
    content = hashlib.sha256(read_bounded(path, MOST_BYTES, error=ModelError))
    read_triangles(path, root)  # errors of the mesh come before those of its materials
    looks = read_surfaces(path, root)
    asset = _asset(path, root, scale, content.hexdigest())
    turn = UPRIGHT[up]
    vertices = asset.vertices @ turn.T
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    surfaces = tuple(replace(surface, corners=scale * surface.corners @ turn.T - middle) for surface in looks)
    digest = content.copy()
    digest.update(f"{scale!r} {up}".encode())
    for surface in surfaces:
        digest.update(repr(surface.material.rgba).encode())
        if surface.material.image is not None:
            digest.update(surface.material.image.tobytes())
    return MeshBody(
        source=path.name,
        digest=digest.hexdigest(),
        vertices=vertices - middle,
        faces=asset.faces,
        hulls=tuple(ConvexPart(part.vertices @ turn.T - middle, part.faces) for part in asset.hulls),
        surfaces=surfaces,
        volume_m3=asset.volume_m3,
        centre_m=turn @ asset.centre_m - middle,
        inertia_m2=turn @ asset.inertia_m5 @ turn.T / asset.volume_m3,
    )


def add_mesh_geoms(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, mesh: MeshBody, *, painted: RGBA | None, **touching: Any
) -> None:
    """Add the geoms of a mesh: convex parts with contacts, which are not drawn, and surfaces without contacts.

    Args:
        name: of the thing. The first convex part has this name too.
        painted: the colour of all surfaces, in place of the materials of the file.
        touching: contact options of the convex parts.
    """
    for number, part in enumerate(mesh.hulls):
        part_name = name if number == 0 else f"{name}.{number}"
        _add_asset(spec, part_name, part.vertices, part.faces)
        body.add_geom(
            name=part_name, type=MESH, meshname=part_name, mass=0, rgba=UNSEEN, group=HIDDEN, **touching
        )  # fmt: skip
    for number, surface in enumerate(mesh.surfaces):
        look = f"{name}.look{number}"
        count = len(surface.corners)
        faces = np.arange(3 * count).reshape(-1, 3)
        asset = _add_asset(spec, look, surface.corners.reshape(-1, 3), faces)
        geom = body.add_geom(name=look, type=MESH, meshname=look, mass=0, contype=0, conaffinity=0)
        image = surface.material.image
        if painted is not None or image is None or surface.texcoords is None:
            geom.rgba = painted or surface.material.rgba or mesh.rgba
            continue
        asset.usertexcoord, asset.userfacetexcoord = surface.texcoords.reshape(-1), faces.reshape(-1)
        height, width, _ = image.shape
        texture = spec.add_texture(
            name=look, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3
        )
        texture.data = np.ascontiguousarray(image[::-1]).tobytes()
        material = spec.add_material(name=look)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB.value] = look
        geom.material = look


def _add_asset(spec: mujoco.MjSpec, name: str, vertices: np.ndarray, faces: np.ndarray) -> mujoco.MjsMesh:
    # Mass properties are given, so the engine's own rule for thin or open surfaces does not matter.
    shell = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    return spec.add_mesh(
        name=name, uservert=vertices.reshape(-1).astype(np.float32), userface=faces.reshape(-1).astype(np.int32),
        inertia=shell,
    )  # fmt: skip

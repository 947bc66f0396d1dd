"""Geoms as URDF geometry. URDF has boxes, spheres, cylinders and meshes only."""

from dataclasses import dataclass
from xml.etree import ElementTree

import mujoco
import numpy as np

from twinloop.scene_export.spec.assets import file_name, mesh_surface
from twinloop.scene_export.spec.bodies import MESH_TYPES, asset_frame
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.surfaces import Surface, ellipsoid, height_field, hull_of, obj_text
from twinloop.scene_export.transforms import roll_pitch_yaw, transform

FOLDER = "meshes"
PLANE_M = 100.0  # half width of a plane without an end
PLANE_THICKNESS_M = 0.01


@dataclass(frozen=True)
class UrdfPart:
    """A primitive or mesh in a body: the text of URDF's `geometry`, and its pose."""

    tag: str
    attributes: dict[str, str]
    to_body: np.ndarray


def numbers(values: np.ndarray) -> str:
    return " ".join(number(float(value)) for value in np.ravel(values))


def number(value: float) -> str:
    return repr(round(value, 12) + 0.0).removesuffix(".0")


def add_origin(parent: ElementTree.Element, pose: np.ndarray) -> None:
    ElementTree.SubElement(parent, "origin", xyz=numbers(pose[:3, 3]), rpy=numbers(roll_pitch_yaw(pose[:3, :3])))


def add_geometry(parent: ElementTree.Element, part: UrdfPart, to_link: np.ndarray) -> None:
    """Add the pose and the geometry of a part. `to_link`: from the body to the link."""
    add_origin(parent, to_link @ part.to_body)
    ElementTree.SubElement(ElementTree.SubElement(parent, "geometry"), part.tag, part.attributes)


class Shapes:
    """Converts geoms, and collects the mesh files that they need.

    Attributes:
        files: path in the folder -> content.
        planes: names of planes, which become thin boxes.
    """

    def __init__(self, model: mujoco.MjModel):
        self._model, self._names = model, Names(model)
        self._written: dict[str, str] = {}
        self._taken: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.planes: list[str] = []

    def name(self, geom: int) -> str:
        return self._names["geom"][geom]

    def surface_part(self, key: str, surface: Surface, to_body: np.ndarray) -> UrdfPart:
        """A part with a mesh file. The same key gives the same file."""
        if key not in self._written:
            self._written[key] = f"{FOLDER}/{file_name(key, 'obj', self._taken)}"
            self.files[self._written[key]] = obj_text(surface).encode()
        return UrdfPart("mesh", {"filename": self._written[key]}, to_body)

    def parts(self, geom: int, *, collision: bool) -> list[UrdfPart]:
        """The visual or the collision shape of a geom. A mesh collides as its convex hull."""
        model, kinds = self._model, mujoco.mjtGeom
        kind, size = kinds(int(model.geom_type[geom])), model.geom_size[geom]
        pose = transform(model.geom_pos[geom], model.geom_quat[geom])
        name = self._names["geom"][geom]
        if kind == kinds.mjGEOM_BOX:
            return [UrdfPart("box", {"size": numbers(2 * size)}, pose)]
        if kind == kinds.mjGEOM_SPHERE:
            return [UrdfPart("sphere", {"radius": number(float(size[0]))}, pose)]
        if kind in (kinds.mjGEOM_CYLINDER, kinds.mjGEOM_CAPSULE):
            radius, half = float(size[0]), float(size[1])
            sides = {"radius": number(radius), "length": number(2 * half)}
            parts = [UrdfPart("cylinder", sides, pose)]
            if kind == kinds.mjGEOM_CAPSULE:
                ends = (pose @ transform(np.array([0, 0, side * half])) for side in (1, -1))
                parts += [UrdfPart("sphere", {"radius": number(radius)}, end) for end in ends]
            return parts
        if kind == kinds.mjGEOM_PLANE:
            self.planes.append(name)
            width, length = (2 * float(half) if half > 0 else 2 * PLANE_M for half in size[:2])
            box = numbers(np.array([width, length, PLANE_THICKNESS_M]))
            return [UrdfPart("box", {"size": box}, pose @ transform(np.array([0, 0, -PLANE_THICKNESS_M / 2])))]
        if kind == kinds.mjGEOM_HFIELD:
            hfield = int(model.geom_dataid[geom])
            return [self.surface_part(self._names["hfield"][hfield], height_field(model, hfield), pose)]
        if kind.value in MESH_TYPES:
            mesh = int(model.geom_dataid[geom])
            hull = hull_of(model, mesh) if collision else None
            if hull is not None:
                return [self.surface_part(f"{self._names['mesh'][mesh]}_hull", hull, pose)]
            asset = transform(*asset_frame(model, mesh, model.geom_pos[geom], model.geom_quat[geom]))
            return [self.surface_part(self._names["mesh"][mesh], mesh_surface(model, mesh), asset)]
        return [self.surface_part(f"{name}_ellipsoid", ellipsoid(size), pose)]

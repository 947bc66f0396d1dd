"""Geoms as prims: visual shapes, collision shapes, and collision groups."""

import mujoco
import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, Vt

from twinloop.scene_export.spec.assets import mesh_surface
from twinloop.scene_export.spec.bodies import MESH_TYPES, asset_frame
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.surfaces import Surface, ellipsoid, height_field, textured_box, textured_rectangle
from twinloop.scene_export.usd.materials import Materials
from twinloop.scene_export.usd.paths import WORLD, PrimPaths, place

GROUPS = f"{WORLD}/CollisionGroups"
HIDDEN_FROM = 3  # the engine's viewers show the groups 0, 1 and 2


class Geometry:
    """Writes geoms below prims, and afterwards the groups of geoms that touch each other."""

    def __init__(self, stage: Usd.Stage, model: mujoco.MjModel, paths: PrimPaths, materials: Materials):
        self._stage, self._model, self._paths, self._materials = stage, model, paths, materials
        self._names = Names(model)["geom"]
        self._classes: dict[tuple[int, int], list[str]] = {}

    def add(self, parent: str, geom: int) -> None:
        model = self._model
        path = self._paths.new(parent, self._names[geom])
        textured = self._define(path, geom)
        prim = self._stage.GetPrimAtPath(path)
        material = int(model.geom_matid[geom])
        self._show(prim, np.array(model.geom_rgba[geom]), material, textured=textured)
        if model.geom_group[geom] >= HIDDEN_FROM:
            UsdGeom.Imageable(prim).CreateVisibilityAttr(UsdGeom.Tokens.invisible)
        contact = (int(model.geom_contype[geom]), int(model.geom_conaffinity[geom]))
        if any(contact):
            self._collide(prim, contact, float(model.geom_friction[geom, 0]))
            if prim.IsA(UsdGeom.Mesh):
                hull = model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_HFIELD.value
                approximation = UsdPhysics.Tokens.convexHull if hull else UsdPhysics.Tokens.none
                UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(approximation)

    def add_surface(
        self, parent: str, name: str, surface: Surface, rgba: np.ndarray, contact: tuple[int, int], friction: float
    ) -> None:
        """Add a surface in the frame of the parent."""
        path = self._paths.new(parent, name)
        prim = define_mesh(self._stage, path, surface).GetPrim()
        self._show(prim, rgba, -1, textured=False)
        if any(contact):
            self._collide(prim, contact, friction)
            UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(UsdPhysics.Tokens.convexHull)

    def _show(self, prim: Usd.Prim, rgba: np.ndarray, material: int, *, textured: bool) -> None:
        colour = self._materials.colour_of(rgba, material, textured=textured)
        gprim = UsdGeom.Gprim(prim)
        gprim.CreateDisplayColorAttr([Gf.Vec3f(*(float(value) for value in colour[:3]))])
        gprim.CreateDisplayOpacityAttr([float(colour[3])])
        self._materials.bind_surface(prim, rgba, material, textured=textured)

    def _collide(self, prim: Usd.Prim, contact: tuple[int, int], friction: float) -> None:
        UsdPhysics.CollisionAPI.Apply(prim)
        self._materials.bind_friction(prim, friction)
        self._classes.setdefault(contact, []).append(str(prim.GetPath()))

    def _define(self, path: str, geom: int) -> bool:
        """Define the prim of a geom. Returns True if it has texture coordinates."""
        model, kinds = self._model, mujoco.mjtGeom
        kind, size = kinds(int(model.geom_type[geom])), model.geom_size[geom]
        pos, quat, scale = model.geom_pos[geom], model.geom_quat[geom], None
        stage, textured = self._stage, False
        surface = self._textured(kind, geom)
        if surface is not None:
            shape, textured = define_mesh(stage, path, surface), True
        elif kind == kinds.mjGEOM_BOX:
            shape, scale = UsdGeom.Cube.Define(stage, path), size
            shape.CreateSizeAttr(2.0)
        elif kind == kinds.mjGEOM_SPHERE:
            shape = UsdGeom.Sphere.Define(stage, path)
            shape.CreateRadiusAttr(float(size[0]))
        elif kind in (kinds.mjGEOM_CAPSULE, kinds.mjGEOM_CYLINDER):
            shape = (UsdGeom.Capsule if kind == kinds.mjGEOM_CAPSULE else UsdGeom.Cylinder).Define(stage, path)
            shape.CreateRadiusAttr(float(size[0]))
            shape.CreateHeightAttr(2 * float(size[1]))
            shape.CreateAxisAttr(UsdGeom.Tokens.z)
        elif kind == kinds.mjGEOM_PLANE:
            shape = UsdGeom.Plane.Define(stage, path)
            width, length = (2 * float(half) if half > 0 else 200.0 for half in size[:2])
            shape.CreateWidthAttr(width)
            shape.CreateLengthAttr(length)
            shape.CreateAxisAttr(UsdGeom.Tokens.z)
        elif kind == kinds.mjGEOM_HFIELD:
            shape = define_mesh(stage, path, height_field(model, int(model.geom_dataid[geom])))
        elif kind.value in MESH_TYPES:
            mesh = int(model.geom_dataid[geom])
            surface = mesh_surface(model, mesh)
            shape, textured = define_mesh(stage, path, surface), surface.corner_texcoords is not None
            pos, quat = asset_frame(model, mesh, pos, quat)
        else:
            shape = define_mesh(stage, path, ellipsoid(size))
        place(shape.GetPrim(), pos, quat, scale)
        _set_extent(shape)
        return textured

    def _textured(self, kind: mujoco.mjtGeom, geom: int) -> Surface | None:
        """A box or plane as a mesh, if it has an image; None if a primitive of USD shows the same."""
        model, material = self._model, int(self._model.geom_matid[geom])
        if material < 0 or not self._materials.has_image(material):
            return None
        repeats, size = model.mat_texrepeat[material], model.geom_size[geom]
        if model.mat_texuniform[material]:
            repeats = repeats * size[:2]
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            return textured_box(size, repeats)
        touches_nothing = not (model.geom_contype[geom] or model.geom_conaffinity[geom])
        if kind == mujoco.mjtGeom.mjGEOM_PLANE and touches_nothing and (size[:2] > 0).all():
            return textured_rectangle(float(size[0]), float(size[1]), repeats)
        return None

    def add_groups(self) -> None:
        """Add collision groups: two groups that do not touch each other are filtered."""
        classes = list(self._classes)
        paths = {
            contact: self._paths.new(GROUPS, f"contype{contact[0]}_conaffinity{contact[1]}") for contact in classes
        }
        for contact, members in self._classes.items():
            group = UsdPhysics.CollisionGroup.Define(self._stage, paths[contact])
            group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets([Sdf.Path(path) for path in members])
            apart = [paths[other] for other in classes if not touches(contact, other)]
            if apart:
                group.CreateFilteredGroupsRel().SetTargets([Sdf.Path(path) for path in apart])


def touches(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """The engine's rule for geoms with these (contype, conaffinity)."""
    return bool(one[0] & other[1] or other[0] & one[1])


def _set_extent(shape: UsdGeom.Gprim) -> None:
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(shape, Usd.TimeCode.Default())
    if extent:
        shape.CreateExtentAttr(extent)


def define_mesh(stage: Usd.Stage, path: str, surface: Surface) -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(surface.vertices, np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(surface.faces), 3))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(surface.faces.ravel(), np.int32)))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    if surface.corner_normals is not None:
        normals = np.ascontiguousarray(surface.corner_normals.reshape(-1, 3), np.float32)
        mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(normals))
        mesh.SetNormalsInterpolation(UsdGeom.Tokens.faceVarying)
    if surface.corner_texcoords is not None:
        coordinates = surface.corner_texcoords.reshape(-1, 2) * [1, -1] + [0, 1]
        primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
            "st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying
        )
        primvar.Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(coordinates, np.float32)))
    _set_extent(mesh)
    return mesh

"""The stage of a scene: links as rigid bodies below one prim per tree, with joints between them."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from twinloop.scene_export.drives import drives_of, mimics_of
from twinloop.scene_export.files import SceneFiles
from twinloop.scene_export.links import VIRTUAL_INERTIA, VIRTUAL_MASS_KG, RigidLink, articulated_roots, links_of
from twinloop.scene_export.scene import CompleteScene
from twinloop.scene_export.soft import SoftThing, soft_things
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.transforms import quaternion
from twinloop.scene_export.usd.geometry import Geometry
from twinloop.scene_export.usd.joints import Carrier, add_joint, add_loops, add_mimic, set_dynamics
from twinloop.scene_export.usd.materials import Materials
from twinloop.scene_export.usd.notes import format_notes
from twinloop.scene_export.usd.paths import WORLD, PrimPaths, place, quat, vector
from twinloop.scene_export.usd.views import add_ambient, add_camera, add_light

TEXT, BINARY = "scene.usda", "scene.usdc"
LONGEST_TEXT = 8_000_000
"""A stage with more bytes as text is written in the binary format, which takes a sixth of them."""


def build_stage(scene: CompleteScene) -> SceneFiles:
    builder = _StageBuilder(scene)
    builder.build()
    content = builder.stage.GetRootLayer().ExportToString().encode()
    name = TEXT
    if len(content) > LONGEST_TEXT:
        name, content = BINARY, _binary(builder.stage)
    return SceneFiles(name, {name: content, **builder.materials.files}, tuple(builder.notes))


def _binary(stage: Usd.Stage) -> bytes:
    # USD writes its binary format to files only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / BINARY
        stage.GetRootLayer().Export(str(path))
        return path.read_bytes()


class _StageBuilder:
    def __init__(self, scene: CompleteScene):
        self.model, self.data, self.names = scene.model, scene.data, Names(scene.model)
        self.stage = Usd.Stage.CreateInMemory()
        self.paths = PrimPaths()
        self.materials = Materials(self.stage, self.model, self.paths)
        self.geometry = Geometry(self.stage, self.model, self.paths, self.materials)
        self.drives, drive_notes = drives_of(self.model, self.data)
        self.mimics, mimic_notes = mimics_of(self.model)
        self.soft, soft_notes = soft_things(self.model, self.data)
        self.notes = [*drive_notes, *mimic_notes, *soft_notes]
        nodes = frozenset(body for thing in self.soft for body in thing.bodies)
        self.links = links_of(self.model, self.data, left_out=nodes)
        self.articulated = articulated_roots(self.links)
        self.prims: dict[str, str] = {}  # link -> prim
        self.carriers: dict[str, Carrier] = {}  # link -> the rigid body that carries it
        self.joints: dict[int, UsdPhysics.Joint] = {}

    def build(self) -> None:
        self._set_stage()
        self._add_world()
        roots = self._root_prims()
        for link in self.links:
            self._add_link(link, roots[link.root])
        for link in self.links:
            self._add_joint(link, roots[link.root])
        for root in self.articulated:
            UsdPhysics.ArticulationRootAPI.Apply(self.stage.GetPrimAtPath(roots[root]))
        for thing in self.soft:
            self._add_soft(thing)
        for mimic in self.mimics:
            follower, leader = (self.joints[joint].GetPrim() for joint in (mimic.follower, mimic.leader))
            add_mimic(follower, leader, mimic, revolute=follower.IsA(UsdPhysics.RevoluteJoint))
        bodies = {link.body: self.carriers[link.name] for link in self.links if link.name in self.carriers}
        if self.model.neq:
            add_loops(self.stage, WORLD, self.paths, self.model, bodies)
        self._filter_pairs(bodies)
        self.geometry.add_groups()
        add_ambient(self.stage, self.paths, self.model)
        self.notes += format_notes(self.model, self.links, sorted(self.materials.averaged))

    def _set_stage(self) -> None:
        stage = self.stage
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, WORLD).GetPrim())
        physics = UsdPhysics.Scene.Define(stage, self.paths.new(WORLD, "PhysicsScene"))
        gravity = np.array(self.model.opt.gravity)
        strength = float(np.linalg.norm(gravity))
        physics.CreateGravityDirectionAttr(vector(gravity / strength if strength else np.array([0, 0, -1.0])))
        physics.CreateGravityMagnitudeAttr(strength)
        for scope in ("Looks", "PhysicsMaterials", "CollisionGroups"):
            UsdGeom.Scope.Define(stage, self.paths.new(WORLD, scope))

    def _add_world(self) -> None:
        """Add what is attached to the world itself."""
        path = self.paths.new(WORLD, "room")
        UsdGeom.Xform.Define(self.stage, path)
        self._furnish(path, 0)

    def _root_prims(self) -> dict[int, str]:
        """Top body -> the prim that groups its tree; the world's for a tree of one link."""
        prims = {}
        sizes = Counter(link.root for link in self.links)
        for root, size in sorted(sizes.items()):
            if size == 1 and root not in self.articulated:
                prims[root] = WORLD
                continue
            prims[root] = self.paths.new(WORLD, self.names["body"][root])
            UsdGeom.Xform.Define(self.stage, prims[root])
        return prims

    def _is_rigid(self, link: RigidLink) -> bool:
        """True for a link that is a rigid body of its own, not part of its parent or of the world."""
        if link.body < 0 or link.kind != "fixed" or self.model.body_mocapid[link.body] >= 0:
            return True
        if link.root not in self.articulated:
            return self.model.body_weldid[link.body] != 0 and self.model.body_mass[link.body] > 0
        return not link.parent or self.model.body_mass[link.body] > 0

    def _add_link(self, link: RigidLink, root: str) -> None:
        rigid = self._is_rigid(link)
        carrier = self.carriers.get(link.parent) if not rigid else None
        parent, pose = root, link.to_world
        if carrier is not None:
            parent, pose = carrier[0], carrier[1] @ link.parent_to_link
        path = self.paths.new(parent, link.name.rpartition("/")[2])
        prim = UsdGeom.Xform.Define(self.stage, path).GetPrim()
        place(prim, pose[:3, 3], quaternion(pose[:3, :3]))
        self.prims[link.name] = path
        if rigid:
            self.carriers[link.name] = (path, np.eye(4))
            body = UsdPhysics.RigidBodyAPI.Apply(prim)
            if link.body >= 0 and self.model.body_mocapid[link.body] >= 0:
                body.CreateKinematicEnabledAttr(True)
        elif carrier is not None:
            self.carriers[link.name] = (carrier[0], pose)
        self._weigh(prim, link)
        if link.body >= 0:
            self._furnish(path, link.body)

    def _weigh(self, prim: Usd.Prim, link: RigidLink) -> None:
        model, body = self.model, link.body
        if body < 0:
            mass = UsdPhysics.MassAPI.Apply(prim)
            mass.CreateMassAttr(VIRTUAL_MASS_KG)
            mass.CreateDiagonalInertiaAttr(vector(np.full(3, VIRTUAL_INERTIA)))
        elif model.body_mass[body] > 0:
            mass = UsdPhysics.MassAPI.Apply(prim)
            mass.CreateMassAttr(float(model.body_mass[body]))
            mass.CreateCenterOfMassAttr(vector(model.body_ipos[body]))
            mass.CreateDiagonalInertiaAttr(vector(model.body_inertia[body]))
            mass.CreatePrincipalAxesAttr(quat(model.body_iquat[body]))
            if model.body_gravcomp[body] == 1:
                prim.AddAppliedSchema("PhysxRigidBodyAPI")
                attribute = "physxRigidBody:disableGravity"
                prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Bool, custom=False).Set(True)

    def _furnish(self, path: str, body: int) -> None:
        """Add geoms, cameras and lights of a body below its prim."""
        model = self.model
        for geom in np.flatnonzero(model.geom_bodyid == body):
            self.geometry.add(path, int(geom))
        for camera in np.flatnonzero(model.cam_bodyid == body):
            add_camera(self.stage, self.paths.new(path, self.names["camera"][camera]), model, int(camera))
        for light in np.flatnonzero(model.light_bodyid == body):
            add_light(self.stage, self.paths.new(path, self.names["light"][light]), model, int(light))

    def _add_joint(self, link: RigidLink, root: str) -> None:
        if link.kind == "free" or not self._is_rigid(link) or link.root not in self.articulated:
            return
        if link.body >= 0 and self.model.body_mocapid[link.body] >= 0:
            return
        path = self.paths.new(root, link.joint_name.rpartition("/")[2])
        joint = add_joint(self.stage, path, link, self.model, self.carriers.get(link.parent), self.carriers[link.name])
        if link.kind in ("hinge", "slide"):
            self.joints[link.joint] = joint
            set_dynamics(joint, link, self.model, self.data, self.drives.get(link.joint))

    def _add_soft(self, thing: SoftThing) -> None:
        path = self.paths.new(WORLD, thing.name)
        prim = UsdGeom.Xform.Define(self.stage, path).GetPrim()
        place(prim, thing.to_world[:3, 3], np.array([1.0, 0, 0, 0]))
        if thing.bodies and not thing.pinned:
            UsdPhysics.RigidBodyAPI.Apply(prim)
            mass = UsdPhysics.MassAPI.Apply(prim)
            mass.CreateMassAttr(thing.mass_kg)
            mass.CreateCenterOfMassAttr(vector(np.zeros(3)))
            mass.CreateDiagonalInertiaAttr(vector(thing.inertia))
            mass.CreatePrincipalAxesAttr(quat(thing.principal_quat))
        flex = self.names["flex"].index(thing.name)
        contact = (
            (int(self.model.flex_contype[flex]), int(self.model.flex_conaffinity[flex])) if thing.solid else (0, 0)
        )
        self.geometry.add_surface(path, "surface", thing.surface, thing.rgba, contact, thing.friction)

    def _filter_pairs(self, bodies: dict[int, Carrier]) -> None:
        """Filter the pairs of bodies that the model excludes from contact."""
        for signature in self.model.exclude_signature:
            first, second = divmod(int(signature), 1 << 16)
            if first in bodies and second in bodies:
                pairs = UsdPhysics.FilteredPairsAPI.Apply(self.stage.GetPrimAtPath(bodies[first][0]))
                pairs.CreateFilteredPairsRel().AddTarget(Sdf.Path(bodies[second][0]))

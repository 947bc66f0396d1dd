"""USD: the stage, opened again, has the masses, poses, joints, drives, shapes and looks of the twin."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

pytest.importorskip("pxr", reason="pip install 'twinloop[usd]'")
from pxr import Gf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

from tests.scene_export.made import workshop
from twinloop.run.default import embedded_config
from twinloop.scene_export import ExportedScene, Snapshot, export_scene, snapshot_of
from twinloop.scene_export.usd import stage as stage_writer
from twinloop.scene_export.usd.views import forward_of


def opened(folder: Path) -> Usd.Stage:
    return Usd.Stage.Open(str(folder / "scene.usda"))


def prims(stage: Usd.Stage, schema: Any) -> list[Usd.Prim]:
    prims = [prim for prim in stage.Traverse() if prim.HasAPI(schema) or prim.IsA(schema)]
    assert prims, schema
    return prims


def pose_of(prim: Usd.Prim) -> np.ndarray:
    # Row vectors in USD, column vectors here.
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def named(stage: Usd.Stage, name: str) -> Usd.Prim:
    (prim,) = [prim for prim in stage.Traverse() if prim.GetName() == name and prim.HasAPI(UsdPhysics.MassAPI)]
    return prim


def bodies_of(exported: ExportedScene) -> dict[str, int]:
    """Last part of a body's name, as USD has it -> the body, for bodies with mass that are no nodes of a soft thing."""
    model = exported.scene.model
    nodes = set(model.flex_nodebodyid)
    return {
        model.body(body).name.rpartition("/")[2].replace(".", "_"): body
        for body in range(1, model.nbody)
        if model.body_mass[body] > 0 and body not in nodes
    }


def test_masses_inertias_and_poses(snapshot: Snapshot, tmp_path: Path):
    exported = export_scene(snapshot, tmp_path / "out", "usd")
    stage = opened(tmp_path / "out")
    model, data = exported.scene.model, exported.scene.data
    bodies = bodies_of(exported)
    assert bodies
    for name, body in bodies.items():
        prim = named(stage, name)
        mass = UsdPhysics.MassAPI(prim)
        assert mass.GetMassAttr().Get() == pytest.approx(model.body_mass[body], rel=1e-6)
        np.testing.assert_allclose(mass.GetCenterOfMassAttr().Get(), model.body_ipos[body], atol=1e-6)
        np.testing.assert_allclose(mass.GetDiagonalInertiaAttr().Get(), model.body_inertia[body], rtol=1e-5)
        axes = mass.GetPrincipalAxesAttr().Get()
        np.testing.assert_allclose([axes.GetReal(), *axes.GetImaginary()], model.body_iquat[body], atol=1e-6)
        pose = pose_of(prim)
        np.testing.assert_allclose(pose[:3, 3], data.xpos[body], atol=1e-9)
        np.testing.assert_allclose(pose[:3, :3], data.xmat[body].reshape(3, 3), atol=1e-9)
    total = sum(UsdPhysics.MassAPI(prim).GetMassAttr().Get() for prim in prims(stage, UsdPhysics.MassAPI))
    virtual = 1e-4 * sum("_before_" in prim.GetName() for prim in stage.Traverse())
    assert total == pytest.approx(model.body_mass.sum() + virtual, rel=1e-5)
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert UsdPhysics.Scene(prims(stage, UsdPhysics.Scene)[0]).GetGravityMagnitudeAttr().Get() == pytest.approx(9.81)


def frame_of(stage: Usd.Stage, joint: UsdPhysics.Joint, side: int) -> np.ndarray:
    """A joint's frame in the world, from one of its two bodies."""
    targets = (joint.GetBody0Rel() if side == 0 else joint.GetBody1Rel()).GetTargets()
    body = pose_of(stage.GetPrimAtPath(targets[0])) if targets else np.eye(4)
    position = (joint.GetLocalPos0Attr() if side == 0 else joint.GetLocalPos1Attr()).Get()
    rotation = (joint.GetLocalRot0Attr() if side == 0 else joint.GetLocalRot1Attr()).Get()
    local = np.eye(4)
    local[:3, 3] = position
    local[:3, :3] = np.array(Gf.Matrix3d(Gf.Quatd(rotation))).T
    return body @ local


def test_joints_connect_the_links_at_their_start_position(snapshot: Snapshot, tmp_path: Path):
    """The joint frames of both bodies agree after the joint's own motion: axis, anchor and zero are right."""
    exported = export_scene(snapshot, tmp_path / "out", "usd")
    stage, model = opened(tmp_path / "out"), exported.scene.model
    moving = 0
    for prim in prims(stage, UsdPhysics.Joint):
        joint = UsdPhysics.Joint(prim)
        first, second = frame_of(stage, joint, 0), frame_of(stage, joint, 1)
        if prim.IsA(UsdPhysics.RevoluteJoint):
            angle = np.deg2rad(prim.GetAttribute("state:angular:physics:position").Get())
            turn = np.eye(4)
            turn[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            first = first @ turn
            moving += 1
        elif prim.IsA(UsdPhysics.PrismaticJoint):
            first = (
                first
                @ np.array(
                    Gf.Matrix4d().SetTranslate((prim.GetAttribute("state:linear:physics:position").Get(), 0, 0))
                ).T
            )
            moving += 1
        elif prim.IsA(UsdPhysics.SphericalJoint):
            if joint.GetExcludeFromArticulationAttr().Get():
                np.testing.assert_allclose(first[:3, 3], second[:3, 3], atol=2e-3, err_msg=str(prim.GetPath()))
                continue
            first = first[:3, 3]
            second = second[:3, 3]
        np.testing.assert_allclose(first, second, atol=2e-6, err_msg=str(prim.GetPath()))
    scalar = (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value)
    nodes = set(model.flex_nodebodyid)
    joints = [joint for joint in range(model.njnt) if model.jnt_type[joint] in scalar]
    assert moving == sum(model.jnt_bodyid[joint] not in nodes for joint in joints)


def joint_named(stage: Usd.Stage, name: str) -> Usd.Prim:
    (prim,) = [prim for prim in prims(stage, UsdPhysics.Joint) if prim.GetName().startswith(name)]
    return prim


def test_limits_drives_and_couplings(tmp_path: Path):
    exported = export_scene(workshop(), tmp_path / "out", "usd")
    stage = opened(tmp_path / "out")
    shoulder = joint_named(stage, "shoulder")
    limits = UsdPhysics.RevoluteJoint(shoulder)
    np.testing.assert_allclose(
        np.deg2rad([limits.GetLowerLimitAttr().Get(), limits.GetUpperLimitAttr().Get()]), [-2, 2], rtol=1e-6
    )
    servo = UsdPhysics.DriveAPI(shoulder, "angular")
    degree = np.pi / 180
    assert servo.GetStiffnessAttr().Get() == pytest.approx(80 * degree)
    assert servo.GetDampingAttr().Get() == pytest.approx(8 * degree)
    assert servo.GetMaxForceAttr().Get() == pytest.approx(30)
    assert servo.GetTargetPositionAttr().Get() == pytest.approx(np.rad2deg(0.5))
    assert shoulder.GetAttribute("physxJoint:armature").Get() == pytest.approx(0.05)
    crank = UsdPhysics.DriveAPI(joint_named(stage, "crank"), "angular")
    # A velocity servo of gain 2 with gear 3: torque = 3 (2 u - 2 (3 v)).
    assert crank.GetDampingAttr().Get() == pytest.approx(18 * degree)
    assert crank.GetTargetVelocityAttr().Get() == pytest.approx(np.rad2deg(0.3 / 3))
    drawer = UsdPhysics.DriveAPI(joint_named(stage, "drawer"), "linear")
    assert drawer.GetDampingAttr().Get() == pytest.approx(2)
    assert drawer.GetTargetVelocityAttr().Get() == pytest.approx(0.1)  # 0.2 N against 2 Ns/m
    left = joint_named(stage, "left")
    # Both fingers follow a tendon of coefficients 0.5: together they have the tendon's stiffness of 400 N/m.
    assert UsdPhysics.DriveAPI(left, "linear").GetStiffnessAttr().Get() == pytest.approx(200)
    assert UsdPhysics.DriveAPI(left, "linear").GetTargetPositionAttr().Get() == pytest.approx(0.02)
    assert left.GetAttribute("physxMimicJoint:rotX:gearing").Get() == -1
    (leader,) = left.GetRelationship("physxMimicJoint:rotX:referenceJoint").GetTargets()
    assert leader == joint_named(stage, "right").GetPath()
    roots = {prim.GetName() for prim in prims(stage, UsdPhysics.ArticulationRootAPI)}
    assert roots == {"drawer", "arm_base", "crank"}
    assert any(note.startswith("soft thing sponge") for note in exported.notes)
    assert UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/World/hook")).GetKinematicEnabledAttr().Get()


def test_shapes_friction_and_contact_groups(tmp_path: Path):
    snapshot = snapshot_of(embedded_config(), episode=5)
    exported = export_scene(snapshot, tmp_path / "out", "usd")
    stage, model = opened(tmp_path / "out"), exported.scene.model
    cube = stage.GetPrimAtPath("/World/object/object")
    assert cube.HasAPI(UsdPhysics.CollisionAPI)
    extent = (
        UsdGeom.Boundable(cube).ComputeLocalBound(Usd.TimeCode.Default(), "default").ComputeAlignedRange().GetSize()
    )
    np.testing.assert_allclose(extent, 2 * model.geom("object").size, rtol=1e-6)
    material, _ = UsdShade.MaterialBindingAPI(cube).ComputeBoundMaterial("physics")
    friction = UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr().Get()
    assert friction == pytest.approx(float(model.geom("object").friction[0]))
    touching = {prim.GetName() for prim in prims(stage, UsdPhysics.CollisionAPI)}
    assert touching == {
        model.geom(geom).name.replace("/", "_")
        for geom in range(model.ngeom)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]
    }
    groups = {prim.GetName(): UsdPhysics.CollisionGroup(prim) for prim in prims(stage, UsdPhysics.CollisionGroup)}
    apart = {name: {path.name for path in group.GetFilteredGroupsRel().GetTargets()} for name, group in groups.items()}
    # The table touches the object and the robot; the parts of the robot do not touch each other.
    table, robot, thing = "contype0_conaffinity3", "contype1_conaffinity0", "contype2_conaffinity1"
    assert apart == {table: {table}, robot: {robot}, thing: {thing}}


def test_meshes_are_where_the_engine_has_them(tmp_path: Path):
    exported = export_scene(workshop(), tmp_path / "out", "usd")
    stage, model, data = opened(tmp_path / "out"), exported.scene.model, exported.scene.data
    (wedge,) = [prim for prim in prims(stage, UsdGeom.Mesh) if prim.GetName() == "wedge"]
    points = np.array(UsdGeom.Mesh(wedge).GetPointsAttr().Get())
    pose = pose_of(wedge)
    geom = model.geom("wedge").id
    vertices = model.mesh_vert[: model.mesh_vertnum[0]] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
    np.testing.assert_allclose(points @ pose[:3, :3].T + pose[:3, 3], vertices, atol=1e-6)
    assert UsdPhysics.MeshCollisionAPI(wedge).GetApproximationAttr().Get() == "convexHull"
    assert (tmp_path / "out" / "assets" / "checks.png").exists()
    (sponge,) = [prim for prim in prims(stage, UsdGeom.Mesh) if str(prim.GetPath()) == "/World/sponge/surface"]
    soft = np.array(UsdGeom.Mesh(sponge).GetPointsAttr().Get()) + pose_of(sponge)[:3, 3]
    np.testing.assert_allclose(soft, data.flexvert_xpos, atol=1e-6)


def test_a_table_with_an_image_keeps_it_and_its_size(tmp_path: Path):
    exported = export_scene(snapshot_of(embedded_config(), episode=5), tmp_path / "out", "usd")
    stage, model = opened(tmp_path / "out"), exported.scene.model
    table = stage.GetPrimAtPath("/World/table/table")
    assert table.IsA(UsdGeom.Mesh)
    points = np.array(UsdGeom.Mesh(table).GetPointsAttr().Get())
    np.testing.assert_allclose(np.ptp(points, axis=0), 2 * model.geom("table").size, rtol=1e-6)
    coordinates = np.array(UsdGeom.PrimvarsAPI(table).GetPrimvar("st").Get())
    repeats = model.mat_texrepeat[int(model.geom("table").matid[0])]
    np.testing.assert_allclose(np.ptp(coordinates, axis=0), repeats, rtol=1e-6)
    material, _ = UsdShade.MaterialBindingAPI(table).ComputeBoundMaterial()
    sampler = UsdShade.Shader(stage.GetPrimAtPath(f"{material.GetPath()}/texture"))
    assert (tmp_path / "out" / sampler.GetInput("file").Get().path).exists()
    faces = np.array(UsdGeom.Mesh(table).GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    corners = points[faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(8 * np.prod(model.geom("table").size), rel=1e-5), "faces must point outwards"


def test_cameras_lights_and_colours(tmp_path: Path):
    exported = export_scene(workshop(), tmp_path / "out", "usd")
    stage, model, data = opened(tmp_path / "out"), exported.scene.model, exported.scene.data
    cameras = {prim.GetName(): prim for prim in prims(stage, UsdGeom.Camera)}
    for index in range(model.ncam):
        prim = cameras[model.camera(index).name]
        camera = UsdGeom.Camera(prim).GetCamera(Usd.TimeCode.Default())
        assert camera.GetFieldOfView(Gf.Camera.FOVVertical) == pytest.approx(float(model.cam_fovy[index]), abs=1e-3)
        width, height = model.cam_resolution[index]
        assert camera.aspectRatio == pytest.approx(width / height)
        np.testing.assert_allclose(pose_of(prim)[:3, 3], data.cam_xpos[index], atol=1e-6)
        np.testing.assert_allclose(pose_of(prim)[:3, :3], data.cam_xmat[index].reshape(3, 3), atol=1e-6)
    (lamp,) = prims(stage, UsdLux.SphereLight)
    orient = lamp.GetAttribute("xformOp:orient").Get()
    np.testing.assert_allclose(forward_of(orient), data.light_xdir[0], atol=1e-6)
    assert UsdLux.ShapingAPI(lamp).GetShapingConeAngleAttr().Get() == pytest.approx(30)
    (capsule,) = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Capsule) and "/upper/" in str(prim.GetPath())]
    np.testing.assert_allclose(UsdGeom.Gprim(capsule).GetDisplayColorAttr().Get()[0], [0.2, 0.6, 0.3], atol=1e-6)


def test_a_large_stage_is_binary_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    export_scene(workshop(), tmp_path / "text", "usd")
    monkeypatch.setattr(stage_writer, "LONGEST_TEXT", 1000)
    exported = export_scene(workshop(), tmp_path / "binary", "usd")
    assert exported.main.name == "scene.usdc"
    text, binary = opened(tmp_path / "text"), Usd.Stage.Open(str(exported.main))
    assert binary.GetRootLayer().ExportToString() == text.GetRootLayer().ExportToString()


def test_the_physics_parser_of_usd_accepts_the_stage(snapshot: Snapshot, tmp_path: Path):
    export_scene(snapshot, tmp_path / "out", "usd")
    stage = opened(tmp_path / "out")
    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/World"])
    for kind, (paths, descriptions) in parsed.items():
        assert len(paths) == len(descriptions)
        assert all(description.isValid for description in descriptions), kind
    assert UsdPhysics.ObjectType.RigidBody in parsed
    assert UsdPhysics.ObjectType.Articulation in parsed

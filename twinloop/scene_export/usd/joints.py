"""Joints, drives, couplings and loop closures of USD.

UsdPhysics has no armature, joint friction, start position or mimic joint. They are written as attributes of PhysX's
schemas, which Isaac Sim reads; other readers ignore them.
"""

from collections.abc import Mapping

import mujoco
import numpy as np
from pxr import Sdf, Usd, UsdPhysics

from twinloop.scene_export.drives import JointDrive, Mimic
from twinloop.scene_export.links import RigidLink
from twinloop.scene_export.transforms import matrix, product, quaternion, rotation_to, transform
from twinloop.scene_export.usd.paths import PrimPaths, quat, vector

Carrier = tuple[str, np.ndarray]
"""(path of the prim that is a rigid body, pose of a link in it)."""


def add_joint(
    stage: Usd.Stage, path: str, link: RigidLink, model: mujoco.MjModel, parent: Carrier | None, child: Carrier
) -> UsdPhysics.Joint:
    """Add the joint between a link and its parent. `parent` is None for the world."""
    turn = rotation_to(link.axis) if link.kind in ("hinge", "slide") else np.array([1.0, 0, 0, 0])
    frame = transform(link.anchor, turn)
    in_parent = link.parent_to_link @ frame
    joint = _define(stage, path, link, model)
    joint.CreateCollisionEnabledAttr(False)
    _set_frames(joint, parent, in_parent, child, frame)
    return joint


def _define(stage: Usd.Stage, path: str, link: RigidLink, model: mujoco.MjModel) -> UsdPhysics.Joint:
    index = link.joint
    if link.kind == "fixed":
        return UsdPhysics.FixedJoint.Define(stage, path)
    low, high = (float(value) for value in model.jnt_range[index])
    if link.kind == "ball":
        joint = UsdPhysics.SphericalJoint.Define(stage, path)
        if model.jnt_limited[index]:
            joint.CreateConeAngle0LimitAttr(float(np.rad2deg(high)))
            joint.CreateConeAngle1LimitAttr(float(np.rad2deg(high)))
        return joint
    revolute = link.kind == "hinge"
    joint = (UsdPhysics.RevoluteJoint if revolute else UsdPhysics.PrismaticJoint).Define(stage, path)
    joint.CreateAxisAttr(UsdPhysics.Tokens.x)
    if model.jnt_limited[index]:
        scale = 180 / np.pi if revolute else 1.0
        joint.CreateLowerLimitAttr(scale * low)
        joint.CreateUpperLimitAttr(scale * high)
    return joint


def _set_frames(
    joint: UsdPhysics.Joint, first: Carrier | None, in_first: np.ndarray, second: Carrier, in_second: np.ndarray
) -> None:
    if first is not None:
        joint.CreateBody0Rel().SetTargets([Sdf.Path(first[0])])
        in_first = first[1] @ in_first
    joint.CreateBody1Rel().SetTargets([Sdf.Path(second[0])])
    in_second = second[1] @ in_second
    joint.CreateLocalPos0Attr(vector(in_first[:3, 3]))
    joint.CreateLocalRot0Attr(quat(quaternion(in_first[:3, :3])))
    joint.CreateLocalPos1Attr(vector(in_second[:3, 3]))
    joint.CreateLocalRot1Attr(quat(quaternion(in_second[:3, :3])))


def set_dynamics(
    joint: UsdPhysics.Joint, link: RigidLink, model: mujoco.MjModel, data: mujoco.MjData, drive: JointDrive | None
) -> None:
    """Set the drive, start position, armature and friction of a hinge or slide."""
    prim, dof = joint.GetPrim(), int(model.jnt_dofadr[link.joint])
    revolute = link.kind == "hinge"
    kind = "angular" if revolute else "linear"
    degree = 180 / np.pi if revolute else 1.0  # USD measures angles in degrees
    if drive is not None:
        servo = UsdPhysics.DriveAPI.Apply(prim, kind)
        servo.CreateTypeAttr(UsdPhysics.Tokens.force)
        servo.CreateStiffnessAttr(drive.stiffness / degree)
        servo.CreateDampingAttr(drive.damping / degree)
        servo.CreateTargetPositionAttr(drive.target * degree)
        servo.CreateTargetVelocityAttr(drive.target_velocity * degree)
        if np.isfinite(drive.most):
            servo.CreateMaxForceAttr(drive.most)
    prim.AddAppliedSchema(f"PhysicsJointStateAPI:{kind}")
    _number(prim, f"state:{kind}:physics:position", degree * float(data.qpos[model.jnt_qposadr[link.joint]]))
    _number(prim, f"state:{kind}:physics:velocity", degree * float(data.qvel[dof]))
    prim.AddAppliedSchema("PhysxJointAPI")
    _number(prim, "physxJoint:armature", float(model.dof_armature[dof]))
    loss = float(model.dof_frictionloss[dof])
    if loss:
        prim.AddAppliedSchema(f"PhysxJointAxisAPI:{kind}")
        for effort in ("staticFrictionEffort", "dynamicFrictionEffort"):
            _number(prim, f"physxJointAxis:{kind}:{effort}", loss)


def add_mimic(follower: Usd.Prim, leader: Usd.Prim, mimic: Mimic, *, revolute: bool) -> None:
    """Couple two joints: PhysX holds follower + gearing × leader + offset at 0."""
    name = "physxMimicJoint:rotX"
    follower.AddAppliedSchema("PhysxMimicJointAPI:rotX")
    _number(follower, f"{name}:gearing", -mimic.multiplier)
    _number(follower, f"{name}:offset", -mimic.offset * (180 / np.pi if revolute else 1.0))
    follower.CreateRelationship(f"{name}:referenceJoint", custom=False).SetTargets([leader.GetPath()])


def _number(prim: Usd.Prim, name: str, value: float) -> None:
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, custom=False).Set(value)


def add_loops(
    stage: Usd.Stage, parent: str, paths: PrimPaths, model: mujoco.MjModel, carriers: Mapping[int, Carrier]
) -> None:
    """Add joints for equalities that connect or weld two bodies outside the tree."""
    for index in range(model.neq):
        kind = mujoco.mjtEq(int(model.eq_type[index]))
        if not model.eq_active0[index] or kind not in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            continue
        (first, in_first), (second, in_second) = loop_frames(model, index)
        if first not in carriers and second not in carriers:
            continue
        if second not in carriers:
            first, second, in_first, in_second = second, first, in_second, in_first
        path = paths.new(parent, model.equality(index).name)
        weld = kind == mujoco.mjtEq.mjEQ_WELD
        joint = (UsdPhysics.FixedJoint if weld else UsdPhysics.SphericalJoint).Define(stage, path)
        joint.CreateExcludeFromArticulationAttr(True)
        _set_frames(joint, carriers.get(first), in_first, carriers[second], in_second)


def loop_frames(model: mujoco.MjModel, equality: int) -> tuple[tuple[int, np.ndarray], tuple[int, np.ndarray]]:
    """(body, frame in it) of both sides of a connect or weld."""
    first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
    data = model.eq_data[equality]
    if int(model.eq_objtype[equality]) == mujoco.mjtObj.mjOBJ_SITE.value:
        frames = [
            (int(model.site_bodyid[site]), transform(model.site_pos[site], model.site_quat[site]))
            for site in (first, second)
        ]
        return frames[0], frames[1]
    if int(model.eq_type[equality]) == mujoco.mjtEq.mjEQ_CONNECT.value:
        return (first, transform(data[:3])), (second, transform(data[3:6]))
    anchor, relative = data[:3], data[6:10] / np.linalg.norm(data[6:10])
    in_first = transform(data[3:6] + matrix(relative) @ anchor, product(relative, np.array([1.0, 0, 0, 0])))
    return (first, in_first), (second, transform(anchor))

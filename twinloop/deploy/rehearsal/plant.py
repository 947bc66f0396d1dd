"""Converts a MuJoCo model to a Drake plant with the same bodies, joints, motors and shapes.

Kinematics, masses, inertias, motor inertias, joint limits and servo gains are the model's. Contact is Drake's: the
object is a compliant solid with a pressure field against rigid shapes (hydroelastic contact); all other contacts are
point contacts. The friction cone is solved with the SAP solver at a fixed time step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Cylinder,
    Ellipsoid,
    GeometrySet,
    ProximityProperties,
    SceneGraph,
    Shape,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    JointActuator,
    ModelInstanceIndex,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    RotationalInertia,
    SpatialInertia,
)
from pydrake.systems.framework import Diagram, DiagramBuilder

OBJECT = "object"
ROBOT = "robot"
MESH_M = 0.008  # mesh resolution of round shapes


@dataclass(frozen=True)
class ContactMaterial:
    """Material of all contacts.

    Attributes:
        friction: friction coefficient of every contact.
        stiffness_pa: stiffness of the object, as the pressure at its centre.
        dissipation_s_m: Hunt-Crossley dissipation.
    """

    friction: float = 0.8
    stiffness_pa: float = 6e5
    dissipation_s_m: float = 50.0


@dataclass(frozen=True)
class Servos:
    """Scales of the motors' parameters relative to the model."""

    stiffness_scale: float = 1.0
    damping_scale: float = 1.0
    strength_scale: float = 1.0
    grip_scale: float = 1.0


@dataclass(frozen=True)
class FixedBody:
    """A solid object that does not move. `size` has MuJoCo's meaning for that geom type."""

    name: str
    type: int
    size: tuple[float, float, float]
    position_m: tuple[float, float, float]


@dataclass(frozen=True)
class DrakePlant:
    """A Drake plant and its parts. joints: driven joints in the order of the desired positions: arm, then fingers."""

    diagram: Diagram
    plant: MultibodyPlant
    robot: ModelInstanceIndex
    object: RigidBody
    fingers: tuple[RigidBody, ...]
    tool: FixedOffsetFrame
    joints: tuple[str, ...]


def plant_of(
    model: mujoco.MjModel,
    *,
    material: ContactMaterial,
    servos: Servos,
    timestep_s: float,
    fixtures: tuple[FixedBody, ...] = (),
    table_height_m: float = 0.0,
    gravity_m_s2: np.ndarray | None = None,
    tool_site: str = "robot/tool",
    finger_bodies: tuple[str, ...] = ("robot/left_finger", "robot/right_finger"),
) -> DrakePlant:
    return _Builder(model, material, servos, timestep_s).build(
        fixtures, table_height_m, gravity_m_s2, tool_site, finger_bodies
    )


class _Builder:
    def __init__(self, model: mujoco.MjModel, material: ContactMaterial, servos: Servos, timestep_s: float):
        self.model, self.material, self.servos = model, material, servos
        self.builder = DiagramBuilder()
        self.plant, self.scene = _empty(self.builder, timestep_s)
        self.robot = self.plant.AddModelInstance(ROBOT)
        self.world = self.plant.AddModelInstance("scene")
        self.bodies: dict[int, RigidBody] = {0: self.plant.world_body()}

    def build(
        self,
        fixtures: tuple[FixedBody, ...],
        table_height_m: float,
        gravity_m_s2: np.ndarray | None,
        tool_site: str,
        finger_bodies: tuple[str, ...],
    ) -> DrakePlant:
        model, plant = self.model, self.plant
        for index in range(1, model.nbody):
            # Mocap bodies are left out: the target has no contacts, and clutter is added as fixtures.
            if model.body_mocapid[index] < 0:
                raised = table_height_m if model.body(index).name == "table" else 0.0
                self._add_body(index, raised)
        for fixture in fixtures:
            pose = RigidTransform(np.array(fixture.position_m))
            self._add_shape(plant.world_body(), fixture.name, fixture.type, np.array(fixture.size), pose)
        joints = tuple(self._add_motors())
        self._add_couplings()
        tool = self._add_tool(tool_site)
        plant.set_gravity_enabled(self.robot, False)  # arms compensate their own weight
        gravity = model.opt.gravity if gravity_m_s2 is None else gravity_m_s2
        plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        plant.Finalize()
        self._robot_meets_others_only()
        body = plant.GetBodyByName(OBJECT)
        fingers = tuple(plant.GetBodyByName(name) for name in finger_bodies)
        return DrakePlant(self.builder.Build(), plant, self.robot, body, fingers, tool, joints)

    def _add_body(self, index: int, raised_m: float) -> None:
        model, plant = self.model, self.plant
        name = model.body(index).name
        instance = self.robot if name.startswith("robot/") else self.world
        body = self.bodies[index] = plant.AddRigidBody(name, instance, spatial_inertia(model, index))
        parent = self.bodies[int(model.body_parentid[index])]
        place = transform(model.body_pos[index] + [0, 0, raised_m], model.body_quat[index])
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        if count == 0:
            plant.WeldFrames(parent.body_frame(), body.body_frame(), place)
        elif model.jnt_type[first] != mujoco.mjtJoint.mjJNT_FREE.value:
            self._add_joint(first, parent, body, place)
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] == index and (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                pose = transform(model.geom_pos[geom], model.geom_quat[geom])
                self._add_shape(body, f"{name}/{geom}", int(model.geom_type[geom]), model.geom_size[geom], pose)

    def _add_joint(self, joint: int, parent: RigidBody, body: RigidBody, place: RigidTransform) -> None:
        model, plant = self.model, self.plant
        name = model.joint(joint).name
        on_parent = plant.AddFrame(FixedOffsetFrame(f"{name}/at", parent.body_frame(), place, self.robot))
        kind = RevoluteJoint if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE.value else PrismaticJoint
        low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
        damping = float(model.dof_damping[model.jnt_dofadr[joint]])
        plant.AddJoint(
            kind(name, on_parent, body.body_frame(), model.jnt_axis[joint], float(low), float(high), damping)
        )

    def _add_shape(self, body: RigidBody, name: str, kind: int, size: np.ndarray, pose: RigidTransform) -> None:
        properties, material = ProximityProperties(), self.material
        if body.name() == OBJECT:
            AddCompliantHydroelasticProperties(MESH_M, material.stiffness_pa, properties)
        else:
            AddRigidHydroelasticProperties(MESH_M, properties)
        friction = CoulombFriction(material.friction, material.friction)
        AddContactMaterial(dissipation=material.dissipation_s_m, friction=friction, properties=properties)
        self.plant.RegisterCollisionGeometry(body, pose, _shape(kind, size), name, properties)

    def _add_motors(self) -> Iterator[str]:
        """Add one motor per driven joint. A tendon's motor becomes one motor per joint, with its force divided."""
        model, servos = self.model, self.servos
        for actuator in range(model.nu):
            kp, kd = model.actuator_gainprm[actuator, 0], -model.actuator_biasprm[actuator, 2]
            limit = float(model.actuator_forcerange[actuator, 1])
            target = int(model.actuator_trnid[actuator, 0])
            if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT.value:
                gains = PdControllerGains(p=kp * servos.stiffness_scale, d=kd * servos.damping_scale)
                self._add_motor(target, gains, limit * servos.strength_scale)
                yield model.joint(target).name
                continue
            start, count = int(model.tendon_adr[target]), int(model.tendon_num[target])
            for wrap in range(start, start + count):
                joint, share = int(model.wrap_objid[wrap]), float(model.wrap_prm[wrap])
                gains = PdControllerGains(p=share * kp, d=share * kd)
                self._add_motor(joint, gains, share * limit * servos.grip_scale)
                yield model.joint(joint).name

    def _add_motor(self, joint: int, gains: PdControllerGains, limit: float) -> None:
        name = self.model.joint(joint).name
        motor: JointActuator = self.plant.AddJointActuator(name, self.plant.GetJointByName(name), limit)
        motor.set_default_rotor_inertia(float(self.model.dof_armature[self.model.jnt_dofadr[joint]]))
        motor.set_default_gear_ratio(1.0)
        motor.set_controller_gains(gains)

    def _add_couplings(self) -> None:
        model, plant = self.model, self.plant
        for equality in range(model.neq):
            if model.eq_type[equality] == mujoco.mjtEq.mjEQ_JOINT.value:
                first, second = (
                    plant.GetJointByName(model.joint(int(joint)).name)
                    for joint in (model.eq_obj1id[equality], model.eq_obj2id[equality])
                )
                offset, ratio = model.eq_data[equality, :2]
                plant.AddCouplerConstraint(first, second, gear_ratio=float(ratio), offset=float(offset))

    def _add_tool(self, name: str) -> FixedOffsetFrame:
        model = self.model
        site = model.site(name).id
        pose = transform(model.site_pos[site], model.site_quat[site])
        body = self.bodies[int(model.site_bodyid[site])]
        return self.plant.AddFrame(FixedOffsetFrame("tool", body.body_frame(), pose, self.robot))

    def _robot_meets_others_only(self) -> None:
        own = GeometrySet()
        for index in self.plant.GetBodyIndices(self.robot):
            own.Add(self.plant.GetCollisionGeometriesForBody(self.plant.get_body(index)))
        self.scene.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(own))


def _empty(builder: DiagramBuilder, timestep_s: float) -> tuple[MultibodyPlant, SceneGraph]:
    plant, scene = AddMultibodyPlantSceneGraph(builder, time_step=timestep_s)
    plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    return plant, scene


def spatial_inertia(model: mujoco.MjModel, body: int) -> SpatialInertia:
    """Return the spatial inertia about the body's origin, in the body's frame."""
    turn = _rotation(model.body_iquat[body])
    inertia = turn @ np.diag(model.body_inertia[body]) @ turn.T
    rotational = RotationalInertia(*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return SpatialInertia.MakeFromCentralInertia(float(model.body_mass[body]), model.body_ipos[body], rotational)


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def transform(position_m: np.ndarray, quaternion: np.ndarray) -> RigidTransform:
    unit = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return RigidTransform(RotationMatrix(_rotation(unit)), np.asarray(position_m, float))


def _shape(kind: int, size: np.ndarray) -> Shape:
    kinds = mujoco.mjtGeom
    radius, half = float(size[0]), float(size[1])
    if kind == kinds.mjGEOM_BOX.value:
        return Box(*(2.0 * size))
    if kind == kinds.mjGEOM_CYLINDER.value:
        return Cylinder(radius, 2 * half)
    if kind == kinds.mjGEOM_CAPSULE.value:
        return Capsule(radius, 2 * half)
    if kind == kinds.mjGEOM_ELLIPSOID.value:
        return Ellipsoid(*map(float, size))
    raise ValueError(f"no shape for MuJoCo's geom type {kind}")

"""Builds a Drake plant from a CellBuild: the same bodies, joints, motors and shapes as the cell's MuJoCo model.

Contact is Drake's. Things, and the moving parts of fixtures, are compliant solids with a pressure field against rigid
shapes (hydroelastic contact); other contacts are point contacts. The friction cone is solved with the SAP solver at a
fixed time step. Joint friction is a velocity servo with a small force limit, which SAP solves implicitly.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    CollisionFilterDeclaration,
    GeometryId,
    GeometrySet,
    ProximityProperties,
    SceneGraph,
)
from pydrake.math import RigidTransform
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

from twinloop.deploy.rehearsal.cell_build import CellBuild, collides
from twinloop.deploy.rehearsal.drake_shapes import drake_shape, transform
from twinloop.deploy.rehearsal.own_numbers import ROBOT
from twinloop.deploy.rehearsal.poses import FREE, HINGE, coupling, joint_frames, rotation

MESH_M = 0.008  # mesh resolution of round shapes
FIXTURE_PA = 5e6
"""Stiffness of the moving parts of fixtures. Softer ones store energy: a pressed button would jump back."""
STICKING = 1e5
"""Damping of the servo that models joint friction, below its force limit: N·s/m or N·m·s/rad."""


@dataclass(frozen=True)
class DrakePlant:
    """A Drake plant and its parts. Keys are indices of the MuJoCo model.

    Attributes:
        robot, scene: model instances of the robot and of everything else.
        frames: body that an episode places (fixtures, table) -> the frame that it is welded to.
        geometries: geom -> geometry.
        actuators: joints with an actuator, in the order of each instance's ports.
    """

    diagram: Diagram
    plant: MultibodyPlant
    robot: ModelInstanceIndex
    scene: ModelInstanceIndex
    bodies: dict[int, RigidBody]
    frames: dict[int, FixedOffsetFrame]
    geometries: dict[int, GeometryId]
    robot_actuators: tuple[int, ...]
    scene_actuators: tuple[int, ...]


def plant_of(build: CellBuild, *, timestep_s: float) -> DrakePlant:
    return _Builder(build, timestep_s).build()


class _Builder:
    def __init__(self, build: CellBuild, timestep_s: float):
        self.given, self.model = build, build.model
        self.builder = DiagramBuilder()
        self.plant, self.scene_graph = _empty(self.builder, timestep_s)
        self.robot = self.plant.AddModelInstance("robot")
        self.scene = self.plant.AddModelInstance("scene")
        self.bodies: dict[int, RigidBody] = {0: self.plant.world_body()}
        self.frames: dict[int, FixedOffsetFrame] = {}
        self.geometries: dict[int, GeometryId] = {}

    def build(self) -> DrakePlant:
        model, plant = self.model, self.plant
        absent: set[int] = set()
        for index in range(1, model.nbody):
            placed = index in self.given.placed or model.body_mocapid[index] < 0
            if not placed or int(model.body_parentid[index]) in absent:
                absent.add(index)  # clutter that this episode does not have
            else:
                self._add_body(index)
        robot_actuators, scene_actuators = self._add_actuators()
        self._add_couplings()
        plant.set_gravity_enabled(self.robot, not self.given.compensated)
        plant.mutable_gravity_field().set_gravity_vector(np.array(self.given.gravity_m_s2))
        plant.Finalize()
        self._filter_collisions()
        return DrakePlant(
            self.builder.Build(), plant, self.robot, self.scene, self.bodies, self.frames, self.geometries,
            robot_actuators, scene_actuators,
        )  # fmt: skip

    def _instance(self, body: int) -> ModelInstanceIndex:
        return self.robot if self.model.body(body).name.startswith(ROBOT) else self.scene

    def _add_body(self, index: int) -> None:
        model, plant = self.model, self.plant
        name, instance = model.body(index).name, self._instance(index)
        body = self.bodies[index] = plant.AddRigidBody(name, instance, spatial_inertia(model, index))
        parent = self.bodies[int(model.body_parentid[index])]
        place = transform(model.body_pos[index], model.body_quat[index])
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        pose = self.given.table if index == self.given.twin.table_body else self.given.placed.get(index)
        if pose is not None:
            at = transform(pose[:3], pose[3:])
            frame = FixedOffsetFrame(f"{name}/at", plant.world_frame(), at, self.scene)
            self.frames[index] = plant.AddFrame(frame)
            plant.WeldFrames(self.frames[index], body.body_frame(), RigidTransform())
        elif count == 0:
            plant.WeldFrames(parent.body_frame(), body.body_frame(), place)
        elif model.jnt_type[first] != FREE:
            self._add_joint(first, parent, body)
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] == index and collides(model, geom):
                self._add_shape(body, geom)

    def _add_joint(self, joint: int, parent: RigidBody, body: RigidBody) -> None:
        model, plant = self.model, self.plant
        name, axis = model.joint(joint).name, model.jnt_axis[joint]
        on_parent, on_child = (transform(pose[:3], pose[3:]) for pose in joint_frames(model, joint))
        instance = self._instance(int(model.jnt_bodyid[joint]))
        at = plant.AddFrame(FixedOffsetFrame(f"{name}/at", parent.body_frame(), on_parent, instance))
        to = plant.AddFrame(FixedOffsetFrame(f"{name}/to", body.body_frame(), on_child, instance))
        kind = RevoluteJoint if model.jnt_type[joint] == HINGE else PrismaticJoint
        low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
        damping = float(model.dof_damping[model.jnt_dofadr[joint]])
        plant.AddJoint(kind(name, at, to, axis, float(low), float(high), damping))

    def _add_shape(self, body: RigidBody, geom: int) -> None:
        model, given = self.model, self.given
        properties, owner = ProximityProperties(), int(model.geom_bodyid[geom])
        kind = int(model.geom_type[geom])
        moving = model.body_dofnum[owner] == 1 and not model.body(owner).name.startswith(ROBOT)
        if kind == mujoco.mjtGeom.mjGEOM_MESH.value:
            pass  # convex hulls have point contacts
        elif owner in given.stiffness_pa or moving:
            AddCompliantHydroelasticProperties(MESH_M, given.stiffness_pa.get(owner, FIXTURE_PA), properties)
        else:
            AddRigidHydroelasticProperties(MESH_M, properties)
        of_fixture = owner not in given.stiffness_pa and self._instance(owner) == self.scene
        friction = given.friction[geom]
        if of_fixture and owner != given.twin.table_body:
            # Drake combines 2 a b / (a + b); chosen so that a new pad on a fixture has `fixture_friction`.
            pad, wanted = given.thing_friction, given.fixture_friction
            friction = wanted * pad / max(2 * pad - wanted, 0.05)
        AddContactMaterial(
            dissipation=given.dissipation_s_m, friction=CoulombFriction(friction, friction), properties=properties
        )
        pose = transform(model.geom_pos[geom], model.geom_quat[geom])
        shape = drake_shape(model, geom)
        self.geometries[geom] = self.plant.RegisterCollisionGeometry(
            body, pose, shape, f"{model.body(owner).name}/{geom}", properties
        )

    def _add_actuators(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Add the motors, then a servo with the joint's friction as limit to every other joint of the robot and scene.

        The second kind also carries the joint's reflected motor inertia.
        """
        model = self.model
        robot, scene = [], []
        for motor in self.given.motors:
            self._add_actuator(motor.joint, PdControllerGains(p=motor.stiffness, d=motor.damping), motor.limit)
            robot.append(motor.joint)
        for joint in range(model.njnt):
            body = int(model.jnt_bodyid[joint])
            if model.jnt_type[joint] == FREE or joint in robot or body not in self.bodies:
                continue
            friction = float(model.dof_frictionloss[model.jnt_dofadr[joint]])
            gains = PdControllerGains(p=0.0, d=STICKING if friction > 0 else 1e-3)
            self._add_actuator(joint, gains, friction if friction > 0 else np.inf)
            (robot if self._instance(body) == self.robot else scene).append(joint)
        return tuple(robot), tuple(scene)

    def _add_actuator(self, joint: int, gains: PdControllerGains, limit: float) -> None:
        name = self.model.joint(joint).name
        motor: JointActuator = self.plant.AddJointActuator(name, self.plant.GetJointByName(name), limit)
        motor.set_default_rotor_inertia(float(self.model.dof_armature[self.model.jnt_dofadr[joint]]))
        motor.set_default_gear_ratio(1.0)
        motor.set_controller_gains(gains)

    def _add_couplings(self) -> None:
        model, plant = self.model, self.plant
        for equality in range(model.neq):
            first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
            ratio, offset = coupling(model, equality)
            joints = (plant.GetJointByName(model.joint(joint).name) for joint in (first, second))
            plant.AddCouplerConstraint(*joints, gear_ratio=ratio, offset=offset)

    def _filter_collisions(self) -> None:
        """Let only those pairs of shapes meet that meet in the MuJoCo model, by its collision masks."""
        model, manager = self.model, self.scene_graph.collision_filter_manager()
        classes: dict[tuple[int, int], list[GeometryId]] = {}
        for geom, geometry in self.geometries.items():
            masks = int(model.geom_contype[geom]), int(model.geom_conaffinity[geom])
            classes.setdefault(masks, []).append(geometry)
        kinds = list(classes)
        for number, first in enumerate(kinds):
            for second in kinds[number:]:
                if (first[0] & second[1]) or (second[0] & first[1]):
                    continue
                one, other = GeometrySet(classes[first]), GeometrySet(classes[second])
                declaration = CollisionFilterDeclaration()
                if first == second:
                    manager.Apply(declaration.ExcludeWithin(one))
                else:
                    manager.Apply(declaration.ExcludeBetween(one, other))


def _empty(builder: DiagramBuilder, timestep_s: float) -> tuple[MultibodyPlant, SceneGraph]:
    plant, scene = AddMultibodyPlantSceneGraph(builder, time_step=timestep_s)
    plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    return plant, scene


def spatial_inertia(model: mujoco.MjModel, body: int) -> SpatialInertia:
    """Return the spatial inertia about the body's origin, in the body's frame."""
    turn = rotation(model.body_iquat[body])
    inertia = turn @ np.diag(model.body_inertia[body]) @ turn.T
    rotational = RotationalInertia(*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return SpatialInertia.MakeFromCentralInertia(float(model.body_mass[body]), model.body_ipos[body], rotational)

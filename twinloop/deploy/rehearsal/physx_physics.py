"""PhysxPhysics: one episode of a rehearsal cell in PhysX 5 on the CPU, through SAPIEN.

The robot, and every fixture with a joint, is an articulation in reduced coordinates; things are rigid bodies. Contacts
are rigid too, so `contact_stiffness_scale` and `contact_dissipation_s_m` do nothing here.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns about a missing graphics driver, which physics does not need
    import sapien  # pyright: ignore[reportMissingImports]
    from sapien import physx  # pyright: ignore[reportMissingImports]

from twinloop.deploy.rehearsal.cell_build import CellBuild, collides
from twinloop.deploy.rehearsal.own_numbers import ROBOT
from twinloop.deploy.rehearsal.physics import STEP_S, PhysicsState
from twinloop.deploy.rehearsal.poses import FREE, HERE, HINGE, composed, coupling, joint_frames, mesh_vertices, pose_of

SUBSTEPS = 2
CONTACT_M = 0.004
"""Distance below which shapes are a contact pair."""
PATCH_M = 0.008
"""Radius of the contact patches of things, which gives them friction against spinning."""
STICKING = 1e4
"""Damping of the drive that models joint friction, below its force limit: N·s/m or N·m·s/rad."""
COUPLING = 0.3
"""Stiffness and damping of the springs that couple joints, as a share of the most that is stable."""
ALONG_X = {
    mujoco.mjtGeom.mjGEOM_CAPSULE.value: np.array([0.0, 0, 0, np.sqrt(0.5), 0, -np.sqrt(0.5), 0]),
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: np.array([0.0, 0, 0, np.sqrt(0.5), 0, -np.sqrt(0.5), 0]),
}
"""PhysX has the axis of these shapes along x, MuJoCo along z."""


class PhysxPhysics:
    """See CellPhysics."""

    def __init__(self, build: CellBuild, qpos: np.ndarray):
        self._build, self._model = build, build.model
        physx.set_scene_config(gravity=_single(build.gravity_m_s2), enable_tgs=True, enable_enhanced_determinism=True)
        physx.set_shape_config(contact_offset=CONTACT_M, rest_offset=0.0)
        physx.set_body_config(solver_position_iterations=16, solver_velocity_iterations=2, sleep_threshold=0.0)
        self._system = physx.PhysxCpuSystem()
        self._system.timestep = STEP_S / SUBSTEPS
        self._scene = sapien.Scene([self._system])
        self._links: dict[int, physx.PhysxArticulationLinkComponent] = {}
        self._rigid: dict[int, physx.PhysxRigidDynamicComponent] = {}
        self._joints: dict[int, tuple[physx.PhysxArticulation, int]] = {}
        self._owners: dict[object, int] = {}
        self._add_bodies(qpos)
        self._index(qpos)

    # Building.

    def _add_bodies(self, qpos: np.ndarray) -> None:
        model = self._model
        entities: list[sapien.Entity] = []
        for index in range(1, model.nbody):
            parent = int(model.body_parentid[index])
            joint = int(model.body_jntadr[index]) if model.body_jntnum[index] else -1
            robot = model.body(index).name.startswith(ROBOT)
            if joint >= 0 and model.jnt_type[joint] == FREE:
                start = qpos[model.jnt_qposadr[joint] : model.jnt_qposadr[joint] + 7]
                self._add_rigid(index, start, kinematic=False)
            elif robot or parent in self._links or self._carries_joint(index):
                if parent in self._links or index in self._build.placed or robot:
                    entities.append(self._add_link(index, parent, joint))
            else:
                pose = self._build.table if index == self._build.twin.table_body else self._build.placed.get(index)
                if pose is not None:
                    self._add_rigid(index, pose, kinematic=True)
        self._couple()
        for entity in entities:
            self._scene.add_entity(entity)

    def _carries_joint(self, body: int) -> bool:
        """Return whether a child of this body has a joint, so that both are an articulation."""
        children = np.flatnonzero(self._model.body_parentid == body)
        return any(self._model.body_jntnum[child] for child in children if child != body)

    def _add_rigid(self, index: int, pose: np.ndarray, *, kinematic: bool) -> None:
        model, component = self._model, physx.PhysxRigidDynamicComponent()
        component.kinematic = kinematic
        self._attach(component, index)
        if not kinematic:
            self._set_mass(component, index)
        component.name = model.body(index).name
        entity = sapien.Entity()
        entity.add_component(component)
        entity.pose = _pose(pose)
        self._scene.add_entity(entity)
        self._rigid[index] = component
        self._owners[entity] = index

    def _add_link(self, index: int, parent: int, joint: int) -> sapien.Entity:
        model, build = self._model, self._build
        link = physx.PhysxArticulationLinkComponent(self._links.get(parent))
        self._attach(link, index)
        self._set_mass(link, index)
        link.name = model.body(index).name
        entity = sapien.Entity()
        entity.add_component(link)
        own = pose_of(model.body_pos[index], model.body_quat[index])
        if parent not in self._links:
            link.joint.type = "fixed"
            entity.pose = _pose(build.placed.get(index, own))
        elif joint < 0:
            link.joint.type = "fixed"
            link.joint.pose_in_parent, link.joint.pose_in_child = _pose(own), _pose(HERE)
        else:
            self._set_joint(link.joint, joint)
        if build.compensated and link.name.startswith(ROBOT):
            link.disable_gravity = True
        self._links[index] = link
        self._owners[entity] = index
        return entity

    def _set_joint(self, there: physx.PhysxArticulationJoint, joint: int) -> None:
        model = self._model
        there.name = model.joint(joint).name
        there.type = "revolute" if model.jnt_type[joint] == HINGE else "prismatic"
        on_parent, on_child = joint_frames(model, joint)
        turn = _x_to(model.jnt_axis[joint])
        there.pose_in_parent, there.pose_in_child = _pose(composed(on_parent, turn)), _pose(composed(on_child, turn))
        low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
        there.limit = _single([low, high])
        dof = int(model.jnt_dofadr[joint])
        there.armature = _single([[model.dof_armature[dof]]])
        there.friction = 0.0
        motor = next((motor for motor in self._build.motors if motor.joint == joint), None)
        friction = float(model.dof_frictionloss[dof])
        if motor is not None:
            there.set_drive_properties(motor.stiffness, motor.damping, motor.limit)
        elif friction > 0:
            there.set_drive_properties(0.0, STICKING, friction)
        else:
            there.set_drive_properties(0.0, 0.0)

    def _set_mass(self, component: physx.PhysxRigidBodyComponent, index: int) -> None:
        model = self._model
        component.mass = float(max(model.body_mass[index], 1e-4))
        component.cmass_local_pose = _pose(pose_of(model.body_ipos[index], model.body_iquat[index]))
        component.inertia = _single(np.maximum(model.body_inertia[index], 1e-8))

    def _attach(self, component: physx.PhysxRigidBaseComponent, index: int) -> None:
        model, build = self._model, self._build
        name = model.body(index).name
        fixture = index not in build.stiffness_pa and not name.startswith(ROBOT) and index != build.twin.table_body
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] != index or not collides(model, geom):
                continue
            friction = float(build.friction[geom])
            if fixture:
                # PhysX takes the mean; chosen so that a new pad on a fixture has `fixture_friction`.
                friction = 2 * build.fixture_friction - build.thing_friction
            shape = self._shape(geom, physx.PhysxMaterial(friction, friction, 0.0))
            kind = int(model.geom_type[geom])
            at = pose_of(model.geom_pos[geom], model.geom_quat[geom])
            shape.local_pose = _pose(composed(at, ALONG_X[kind]) if kind in ALONG_X else at)
            shape.set_collision_groups([int(model.geom_contype[geom]), int(model.geom_conaffinity[geom]), 0, 0])
            if index in build.stiffness_pa:
                shape.patch_radius = shape.min_patch_radius = PATCH_M
            component.attach(shape)

    def _shape(self, geom: int, material: physx.PhysxMaterial) -> physx.PhysxCollisionShape:
        model, kinds = self._model, mujoco.mjtGeom
        kind, size = int(model.geom_type[geom]), _single(model.geom_size[geom])
        radius, half = float(size[0]), float(size[1])
        if kind == kinds.mjGEOM_BOX.value:
            return physx.PhysxCollisionShapeBox(half_size=size, material=material)
        if kind == kinds.mjGEOM_CAPSULE.value:
            return physx.PhysxCollisionShapeCapsule(radius=radius, half_length=half, material=material)
        if kind == kinds.mjGEOM_CYLINDER.value:
            return physx.PhysxCollisionShapeCylinder(radius=radius, half_length=half, material=material)
        if kind == kinds.mjGEOM_SPHERE.value:
            return physx.PhysxCollisionShapeSphere(radius=radius, material=material)
        points = _ellipsoid(size) if kind == kinds.mjGEOM_ELLIPSOID.value else mesh_vertices(model, geom)
        one = _single(np.ones(3))
        return physx.PhysxCollisionShapeConvexMesh(vertices=_single(points), scale=one, material=material)

    def _couple(self) -> None:
        """Couple joints by springs that are as stiff as the time step allows. The engine's own tendons diverge."""
        model, step_s = self._model, STEP_S / SUBSTEPS
        rows = []
        for equality in range(model.neq):
            first, second = (
                int(model.jnt_dofadr[int(joint)]) for joint in (model.eq_obj1id[equality], model.eq_obj2id[equality])
            )
            one, other = (max(float(model.dof_armature[dof]), 1e-5) for dof in (first, second))
            inertia = one * other / (one + other)
            coordinates = (int(model.jnt_qposadr[model.dof_jntid[dof]]) for dof in (first, second))
            stiffness, damping = COUPLING * inertia / step_s**2, COUPLING * inertia / step_s
            rows.append((first, second, *coordinates, *coupling(model, equality), stiffness, damping))
        self._couplings = rows

    def _coupling_forces(self, force: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Add the forces of the couplings to (dofs,) forces."""
        for first, second, at_first, at_second, ratio, offset, stiffness, damping in self._couplings:
            error = qpos[at_first] - ratio * qpos[at_second] - offset
            pull = -stiffness * error - damping * (qvel[first] - ratio * qvel[second])
            force[first] += pull
            force[second] -= ratio * pull

    def _index(self, qpos: np.ndarray) -> None:
        """Set the start coordinates and find where every joint of the MuJoCo model is."""
        model = self._model
        by_name = {model.joint(joint).name: joint for joint in range(model.njnt)}
        self._articulations: list[tuple[physx.PhysxArticulation, np.ndarray, np.ndarray]] = []
        self._damping = np.zeros(model.nv)
        articulations = {id(link.articulation): link.articulation for link in self._links.values()}
        for articulation in articulations.values():
            joints = np.array([by_name[joint.name] for joint in articulation.active_joints], int)
            if not len(joints):
                continue
            coordinates, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
            articulation.qpos = _single(qpos[coordinates])
            articulation.qvel = _single(np.zeros(len(joints)))
            motors = {motor.joint for motor in self._build.motors[: len(self._build.twin.arm_joints)]}
            # The arm's drives have its damping; other joints are damped explicitly.
            damping = np.array(
                [0.0 if joint in motors else model.dof_damping[model.jnt_dofadr[joint]] for joint in joints]
            )
            self._damping[dofs] = damping
            self._articulations.append((articulation, coordinates, dofs))
            for place, joint in enumerate(joints):
                self._joints[int(joint)] = articulation, place
        self._motors = [
            self._joints[motor.joint][0].active_joints[self._joints[motor.joint][1]] for motor in self._build.motors
        ]
        self._coordinates = np.array([model.jnt_qposadr[motor.joint] for motor in self._build.motors])
        self._dofs = np.array([model.jnt_dofadr[motor.joint] for motor in self._build.motors])
        self._gains = np.array([(motor.stiffness, motor.damping, motor.limit) for motor in self._build.motors]).T
        self._arm_dofs = self._build.twin.arm_dofs
        self._targets, self._rates = qpos[self._coordinates].copy(), np.zeros(len(self._motors))
        self._things = [(index.body, index.qpos, index.dof) for index in self._build.twin.things]
        self._before = qpos.copy()
        self._read()

    # Running.

    def step(
        self, targets: np.ndarray, rates: np.ndarray, torque_nm: np.ndarray, pushes: Mapping[int, np.ndarray]
    ) -> None:
        self._targets, self._rates = targets, rates
        for joint, target, rate in zip(self._motors, targets, rates, strict=True):
            joint.set_drive_target(float(target))
            joint.set_drive_velocity_target(float(rate))
        qpos, qvel = self._state.qpos.copy(), self._state.qvel.copy()
        for _ in range(SUBSTEPS):
            for articulation, coordinates, dofs in self._articulations:
                qpos[coordinates], qvel[dofs] = articulation.qpos, articulation.qvel
            force = -self._damping * qvel
            force[self._arm_dofs] += torque_nm
            self._coupling_forces(force, qpos, qvel)
            for articulation, _, dofs in self._articulations:
                articulation.set_qf(_single(force[dofs]))
            for body, push_n in pushes.items():
                component = self._rigid[body]
                component.add_force_torque(_single(push_n), _single(np.zeros(3)))
            self._system.step()
        self._read()

    def _read(self) -> None:
        qpos, qvel = np.zeros(self._model.nq), np.zeros(self._model.nv)
        for articulation, coordinates, dofs in self._articulations:
            qpos[coordinates] = articulation.qpos
            # By differences, as an encoder measures it: the solver's own velocity of a finger that presses on a thing
            # is not 0 although the finger stands still.
            qvel[dofs] = (qpos[coordinates] - self._before[coordinates]) / STEP_S
        self._before = qpos.copy()
        for body, first, dof in self._things:
            pose = self._rigid[body].entity_pose
            qpos[first : first + 3], qpos[first + 3 : first + 7] = pose.p, pose.q
            qvel[dof : dof + 3] = self._rigid[body].linear_velocity
        stiffness, damping, limit = self._gains
        effort = stiffness * (self._targets - qpos[self._coordinates]) + damping * (self._rates - qvel[self._dofs])
        self._state = PhysicsState(qpos, qvel, np.clip(effort, -limit, limit))

    def read(self) -> PhysicsState:
        return self._state

    def put(self, body: int, pose: np.ndarray) -> None:
        if body in self._links:
            self._links[body].articulation.root_pose = _pose(pose)
            return
        component = self._rigid[body]
        if component.kinematic:
            component.set_kinematic_target(_pose(pose))
        else:
            component.set_entity_pose(_pose(pose))
            component.set_linear_velocity(_single(np.zeros(3)))
            component.set_angular_velocity(_single(np.zeros(3)))

    def finger_force_n(self, bodies: frozenset[int]) -> np.ndarray:
        force = np.zeros(len(self._build.finger_bodies))
        for contact in self._system.get_contacts():
            first, second = (self._owners[component.entity] for component in contact.bodies)
            size_n = float(np.linalg.norm(np.sum([point.impulse for point in contact.points], axis=0)))
            for finger, body in enumerate(self._build.finger_bodies):
                if body in (first, second) and {first, second} - {body} & bodies:
                    force[finger] += size_n * SUBSTEPS / STEP_S
        return force


def _single(values: Any) -> Any:
    """Return an array in single precision. SAPIEN's type hints do not accept NumPy's."""
    return np.asarray(values, np.float32)


def _pose(pose: np.ndarray) -> sapien.Pose:
    return sapien.Pose(_single(pose[:3]), _single(pose[3:]))


def _x_to(axis: np.ndarray) -> np.ndarray:
    """Return the pose that turns the x axis to `axis`."""
    quat = np.zeros(4)
    mujoco.mju_quatZ2Vec(quat, np.asarray(axis, float))
    # First x to z, then z to the axis.
    up = np.zeros(4)
    mujoco.mju_mulQuat(up, quat, np.array([np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0]))
    return pose_of(np.zeros(3), up)


def _ellipsoid(size: np.ndarray) -> np.ndarray:
    """Return (n, 3) points on an ellipsoid."""
    polar, turn = np.meshgrid(np.linspace(0, np.pi, 9), np.linspace(0, 2 * np.pi, 16, endpoint=False))
    unit = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], axis=-1)
    return unit.reshape(-1, 3) * size

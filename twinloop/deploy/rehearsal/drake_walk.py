"""DrakeWalkEngine: a legged robot in Drake, behind the interface of the twin's engine.

`WalkCell` runs on it unchanged: rows of the parameter table write the same model fields, and the Drake plant of an
episode is built from them. Rigid-body dynamics, contact and time stepping are Drake's (SAP solver, point contact,
2.5 ms). MuJoCo computes only where bodies and sites are. Coulomb friction of joints has no effect here.

Rough ground is a rigid mesh of the part around the robot, and contact with it is hydroelastic. The plant is built anew
with the next part when the robot leaves this one; it has no state but positions and velocities.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from pydrake.geometry import AddContactMaterial, GeometryId, ProximityProperties
from pydrake.math import RigidTransform
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    ContactResults,
    CoulombFriction,
    MultibodyPlant,
)
from pydrake.multibody.tree import FixedOffsetFrame, PdControllerGains, RevoluteJoint, RigidBody
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import Diagram, DiagramBuilder

from twinloop.deploy.rehearsal.drake_ground import LEAVES_M, ground_shape, on_ground, with_ground
from twinloop.deploy.rehearsal.drake_plant import spatial_inertia
from twinloop.deploy.rehearsal.drake_shapes import drake_shape, transform
from twinloop.deploy.rehearsal.poses import FREE, joint_frames, rotation
from twinloop.twin.legs.terrain import GROUND
from twinloop.twin.legs.walk_twin import TRUNK_SITE, WalkTwin

STEP_S = 0.0025
STIFFNESS_N_M, DISSIPATION_S_M = 4e4, 0.5
"""Point contact of a rubber foot: 1 mm under a quarter of the robot's weight."""


@dataclass(frozen=True)
class _Plant:
    diagram: Diagram
    plant: MultibodyPlant
    bodies: dict[int, RigidBody]
    geoms: dict[GeometryId, int]
    simulator: Any
    state: Any
    port: Any
    order: np.ndarray
    """Actuator of the MuJoCo model for each of Drake's."""
    middle_m: np.ndarray
    """Middle of its ground."""


class DrakeWalkEngine:
    """`width` simulations of one legged robot. See `simulate/engine.py`."""

    def __init__(self, twin: WalkTwin, *, width: int):
        self.twin, self.width, self.model = twin, width, twin.model
        model = twin.model
        self._arrays: dict[str, np.ndarray] = {
            "time": np.zeros(width),
            "qpos": np.tile(model.qpos0, (width, 1)),
            "qvel": np.zeros((width, model.nv)),
            "ctrl": np.zeros((width, model.nu)),
            "sensordata": np.zeros((width, model.nsensordata)),
            "actuator_force": np.zeros((width, model.nu)),
            "xmat": np.zeros((width, model.nbody, 9)),
            "site_xpos": np.zeros((width, model.nsite, 3)),
            "history": np.zeros((width, len(mujoco.MjData(model).history))),
        }
        self._fields: dict[str, np.ndarray] = {}
        self._plants: list[_Plant | None] = [None] * width
        self._lines: list[deque[np.ndarray]] = [deque() for _ in range(width)]
        self._data, self._failed = mujoco.MjData(model), np.zeros(width, bool)
        self._sensor_of = self._sensors()

    def bind(self, field: str) -> np.ndarray:
        return self._arrays[field]

    def expand(self, field: str) -> np.ndarray:
        if field not in self._fields:
            owner = self.model.opt if field.startswith("opt.") else self.model
            values = np.array(getattr(owner, field.removeprefix("opt.")), float)
            self._fields[field] = np.repeat(values[None], self.width, axis=0)
        return self._fields[field]

    def reset(self, ids: np.ndarray) -> None:
        self._arrays["qpos"][ids] = self.model.qpos0
        for name in ("time", "qvel", "ctrl", "sensordata", "actuator_force"):
            self._arrays[name][ids] = 0
        self._failed[ids] = False
        for slot in ids:
            self._plants[slot] = None
            self._lines[slot].clear()

    def read_forces_every(self, substeps: int) -> None:
        """Do nothing: all forces are read in every step."""

    def set_const(self, ids: np.ndarray) -> None:
        """Drake has no derived constants of the model."""

    def failed(self) -> np.ndarray:
        return self._failed

    def forward(self, ids: np.ndarray) -> None:
        for slot in ids:
            if self._plants[slot] is None or self._leaves(int(slot)):
                self._plants[slot] = self._built(self._model_of(int(slot)), self._arrays["qpos"][slot, :2].copy())
            self._write_state(int(slot))
            self._look(int(slot))

    def step(self, ids: np.ndarray | None, substeps: int) -> None:
        seconds = substeps * self.model.opt.timestep
        for slot in range(self.width) if ids is None else ids:
            if self._leaves(int(slot)):
                self.forward(np.array([slot]))
            built = self._plants[slot]
            assert built is not None
            try:
                for _ in range(round(seconds / STEP_S)):
                    self._aim(int(slot), built)
                    built.simulator.AdvanceTo(built.simulator.get_context().get_time() + STEP_S)
            except RuntimeError:
                self._failed[slot] = True
                continue
            self._arrays["time"][slot] += seconds
            self._read_state(int(slot), built)
            self._look(int(slot))

    def _leaves(self, slot: int) -> bool:
        """Whether a robot is near the edge of its part of rough ground."""
        built = self._plants[slot]
        if built is None or self.twin.terrain.heights_m is None:
            return False
        return bool(np.abs(self._arrays["qpos"][slot, :2] - built.middle_m).max() > LEAVES_M)

    def _model_of(self, slot: int) -> mujoco.MjModel:
        import copy

        model = copy.copy(self.model)
        for field, values in self._fields.items():
            owner = model.opt if field.startswith("opt.") else model
            setattr(owner, field.removeprefix("opt."), values[slot])
        return model

    def _built(self, model: mujoco.MjModel, middle_m: np.ndarray) -> _Plant:
        builder, terrain = DiagramBuilder(), self.twin.terrain
        plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=STEP_S)
        is_flat = terrain.heights_m is None
        plant.set_contact_model(ContactModel.kPoint if is_flat else ContactModel.kHydroelasticWithFallback)
        friction = float(model.geom_friction[self.twin.ground_geom, 0])
        material = ProximityProperties()
        # Drake combines the friction of two shapes as 2 a b / (a + b), so both have that of the ground.
        AddContactMaterial(
            dissipation=DISSIPATION_S_M, point_stiffness=STIFFNESS_N_M, friction=CoulombFriction(friction, friction),
            properties=material,
        )  # fmt: skip
        below, above = (material, material) if is_flat else (with_ground(material), on_ground(material))
        bodies: dict[int, RigidBody] = {0: plant.world_body()}
        geoms: dict[GeometryId, int] = {}
        for index in range(1, model.nbody):
            name = model.body(index).name
            if name == GROUND:
                shape = ground_shape(terrain, middle_m)
                plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), shape, GROUND, below)
                continue
            body = bodies[index] = plant.AddRigidBody(name, spatial_inertia(model, index))
            joint = int(model.body_jntadr[index])
            if model.jnt_type[joint] != FREE:
                self._add_joint(plant, model, joint, bodies[int(model.body_parentid[index])], body)
            for geom in np.flatnonzero((model.geom_bodyid == index) & (model.geom_contype != 0)):
                pose = transform(model.geom_pos[geom], model.geom_quat[geom])
                shape = drake_shape(model, int(geom))
                geoms[plant.RegisterCollisionGeometry(body, pose, shape, f"{name}/{geom}", above)] = int(geom)
        plant.mutable_gravity_field().set_gravity_vector(np.array(model.opt.gravity))
        plant.Finalize()
        diagram = builder.Build()
        _keep_apart(diagram, geoms)
        simulator = Simulator(diagram)
        state = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("DefaultModelInstance"))
        names = [plant.get_joint_actuator(index).name() for index in plant.GetJointActuatorIndices()]
        order = np.array([model.actuator(name).id for name in names])
        simulator.Initialize()
        return _Plant(diagram, plant, bodies, geoms, simulator, state, port, order, middle_m)

    def _add_joint(
        self, plant: MultibodyPlant, model: mujoco.MjModel, joint: int, parent: RigidBody, body: RigidBody
    ) -> None:
        name, dof = model.joint(joint).name, int(model.jnt_dofadr[joint])
        on_parent, on_child = (transform(pose[:3], pose[3:]) for pose in joint_frames(model, joint))
        at = plant.AddFrame(FixedOffsetFrame(f"{name}/at", parent.body_frame(), on_parent))
        to = plant.AddFrame(FixedOffsetFrame(f"{name}/to", body.body_frame(), on_child))
        low, high = map(float, model.jnt_range[joint])
        hinge = plant.AddJoint(
            RevoluteJoint(name, at, to, model.jnt_axis[joint], low, high, float(model.dof_damping[dof]))
        )
        servo = model.actuator(name).id
        motor = plant.AddJointActuator(name, hinge, float(model.actuator_forcerange[servo, 1]))
        motor.set_default_rotor_inertia(float(model.dof_armature[dof]))
        motor.set_default_gear_ratio(1.0)
        gains = PdControllerGains(p=float(model.actuator_gainprm[servo, 0]), d=-float(model.actuator_biasprm[servo, 2]))
        motor.set_controller_gains(gains)

    def _aim(self, slot: int, built: _Plant) -> None:
        """Send the targets that left the controller one delay ago to the servos."""
        line, target = self._lines[slot], self._arrays["ctrl"][slot].copy()
        line.append(target)
        delay_s = float(self._fields["actuator_delay"][slot, 0]) if "actuator_delay" in self._fields else 0.0
        waiting = round(delay_s / STEP_S)
        while len(line) > waiting + 1:
            line.popleft()
        aimed = line[0] if len(line) == waiting + 1 else np.array(self.twin.robot.home_rad)
        targets = aimed[built.order]
        built.port.FixValue(built.state, np.concatenate([targets, np.zeros_like(targets)]))

    def _write_state(self, slot: int) -> None:
        built = self._plants[slot]
        assert built is not None
        qpos, qvel, plant, base = (
            self._arrays["qpos"][slot],
            self._arrays["qvel"][slot],
            built.plant,
            self.twin.base_body,
        )
        place, speed = plant.GetPositions(built.state).copy(), plant.GetVelocities(built.state).copy()
        first = built.bodies[base].floating_positions_start()
        place[first : first + 4], place[first + 4 : first + 7] = qpos[3:7], qpos[:3]
        swift = built.bodies[base].floating_velocities_start_in_v()
        # The engine's turn rate is in the frame of the base, Drake's in the world.
        speed[swift : swift + 3], speed[swift + 3 : swift + 6] = rotation(qpos[3:7]) @ qvel[3:6], qvel[:3]
        for joint, at, dof in zip(self.twin.robot.joints, self.twin.arm_qpos, self.twin.arm_dofs, strict=True):
            hinge = plant.GetJointByName(joint)
            place[hinge.position_start()], speed[hinge.velocity_start()] = qpos[at], qvel[dof]
        plant.SetPositions(built.state, place)
        plant.SetVelocities(built.state, speed)

    def _read_state(self, slot: int, built: _Plant) -> None:
        qpos, qvel, plant, base = (
            self._arrays["qpos"][slot],
            self._arrays["qvel"][slot],
            built.plant,
            self.twin.base_body,
        )
        place, speed = plant.GetPositions(built.state), plant.GetVelocities(built.state)
        first = built.bodies[base].floating_positions_start()
        qpos[3:7], qpos[:3] = place[first : first + 4], place[first + 4 : first + 7]
        swift = built.bodies[base].floating_velocities_start_in_v()
        qvel[3:6], qvel[:3] = rotation(qpos[3:7]).T @ speed[swift : swift + 3], speed[swift + 3 : swift + 6]
        for joint, at, dof in zip(self.twin.robot.joints, self.twin.arm_qpos, self.twin.arm_dofs, strict=True):
            hinge = plant.GetJointByName(joint)
            qpos[at], qvel[dof] = place[hinge.position_start()], speed[hinge.velocity_start()]
        sensed = self._arrays["sensordata"][slot]
        sensed[:] = 0
        contacts = plant.get_contact_results_output_port().Eval(built.state)
        for geometries, force in _forces(contacts):
            for geometry in geometries:
                place_in_data = self._sensor_of.get(built.geoms.get(geometry, -1))
                if place_in_data is not None:
                    sensed[place_in_data] += float(np.linalg.norm(force))

    def _look(self, slot: int) -> None:
        self._data.qpos[:] = self._arrays["qpos"][slot]
        mujoco.mj_kinematics(self.model, self._data)
        self._arrays["xmat"][slot], self._arrays["site_xpos"][slot] = self._data.xmat, self._data.site_xpos

    def _sensors(self) -> dict[int, int]:
        """Geom -> place of its contact force in `sensordata`."""
        model, robot = self.model, self.twin.robot
        places = {model.geom(name).id: model.sensor(foot.name).adr[0] for foot in robot.feet for name in foot.geoms}
        places |= {model.geom(name).id: model.sensor(name).adr[0] for name in robot.shins}
        trunk = np.flatnonzero((model.geom_bodyid == self.twin.base_body) & (model.geom_contype != 0))
        return {**places, **{int(geom): model.sensor(TRUNK_SITE).adr[0] for geom in trunk}}


def _forces(contacts: ContactResults) -> Iterator[tuple[tuple[GeometryId, GeometryId], np.ndarray]]:
    """The two geometries and the force of every contact."""
    for number in range(contacts.num_point_pair_contacts()):
        contact = contacts.point_pair_contact_info(number)
        yield (contact.point_pair().id_A, contact.point_pair().id_B), contact.contact_force()
    for number in range(contacts.num_hydroelastic_contacts()):
        contact = contacts.hydroelastic_contact_info(number)
        surface = contact.contact_surface()
        yield (surface.id_M(), surface.id_N()), contact.F_Ac_W().translational()


def _keep_apart(diagram: Diagram, geoms: dict[GeometryId, int]) -> None:
    """Parts of the robot touch the ground and not each other."""
    from pydrake.geometry import CollisionFilterDeclaration, GeometrySet

    scene: Any = diagram.GetSubsystemByName("scene_graph")
    scene.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(list(geoms))))

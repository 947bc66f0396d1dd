"""DrakePhysics: one episode of a rehearsal cell in Drake."""

from collections.abc import Mapping

import numpy as np
from pydrake.systems.analysis import Simulator

from twinloop.deploy.rehearsal.cell_build import CellBuild
from twinloop.deploy.rehearsal.drake_plant import plant_of
from twinloop.deploy.rehearsal.drake_shapes import transform
from twinloop.deploy.rehearsal.physics import STEP_S, PhysicsState
from twinloop.deploy.rehearsal.poses import FREE


class DrakePhysics:
    """See CellPhysics."""

    def __init__(self, build: CellBuild, qpos: np.ndarray):
        self._build, model = build, build.model
        parts = self._parts = plant_of(build, timestep_s=STEP_S)
        self._plant = plant = parts.plant
        self._context = parts.diagram.CreateDefaultContext()
        self._state = plant.GetMyMutableContextFromRoot(self._context)
        self._motors = len(build.motors)
        self._index()
        positions = plant.GetPositions(self._state).copy()
        positions[self._q_drake] = qpos[self._q_mujoco]
        plant.SetPositions(self._state, positions)
        self._robot_port = plant.get_desired_state_input_port(parts.robot)
        self._effort_port = plant.get_net_actuation_output_port(parts.robot)
        self._force_port = plant.get_applied_generalized_force_input_port()
        self._followers = np.zeros(len(parts.robot_actuators) - self._motors)
        if parts.scene_actuators:
            held = np.zeros(2 * len(parts.scene_actuators))
            plant.get_desired_state_input_port(parts.scene).FixValue(self._state, held)
        self._qpos, self._qvel = np.zeros(model.nq), np.zeros(model.nv)
        home = [qpos[model.jnt_qposadr[motor.joint]] for motor in build.motors]
        self._aim(np.array(home), np.zeros(self._motors))
        self._steps = 0
        self._simulator = Simulator(parts.diagram, self._context)
        self._simulator.Initialize()

    def _index(self) -> None:
        """Find where every coordinate of the MuJoCo model is in Drake's state."""
        plant, parts, model = self._plant, self._parts, self._build.model
        q_drake, q_mujoco, v_drake, v_mujoco = [], [], [], []
        self._arm = []
        self._linear: dict[int, int] = {}
        for joint in range(model.njnt):
            body = int(model.jnt_bodyid[joint])
            if body not in parts.bodies:
                continue
            qpos, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            if model.jnt_type[joint] == FREE:
                # Drake: quaternion, then position; angular velocity, then linear.
                first = parts.bodies[body].floating_positions_start()
                speed = parts.bodies[body].floating_velocities_start_in_v()
                q_drake += [*range(first + 4, first + 7), *range(first, first + 4)]
                q_mujoco += range(qpos, qpos + 7)
                v_drake += range(speed + 3, speed + 6)
                v_mujoco += range(dof, dof + 3)
                self._linear[body] = speed + 3
            else:
                there = plant.GetJointByName(model.joint(joint).name)
                q_drake.append(there.position_start())
                q_mujoco.append(qpos)
                v_drake.append(there.velocity_start())
                v_mujoco.append(dof)
        self._q_drake, self._q_mujoco = np.array(q_drake), np.array(q_mujoco)
        self._v_drake, self._v_mujoco = np.array(v_drake), np.array(v_mujoco)
        self._arm = [
            plant.GetJointByName(model.joint(int(joint)).name).velocity_start() for joint in self._build.twin.arm_joints
        ]

    def _aim(self, targets: np.ndarray, rates: np.ndarray) -> None:
        none = self._followers
        self._robot_port.FixValue(self._state, np.concatenate([targets, none, rates, none]))

    def step(
        self, targets: np.ndarray, rates: np.ndarray, torque_nm: np.ndarray, pushes: Mapping[int, np.ndarray]
    ) -> None:
        self._aim(targets, rates)
        force = np.zeros(self._plant.num_velocities())
        force[self._arm] = torque_nm
        for body, push_n in pushes.items():
            first = self._linear[body]
            force[first : first + 3] = push_n
        self._force_port.FixValue(self._state, force)
        self._steps += 1
        self._simulator.AdvanceTo(self._steps * STEP_S)

    def read(self) -> PhysicsState:
        plant = self._plant
        self._qpos[self._q_mujoco] = plant.GetPositions(self._state)[self._q_drake]
        self._qvel[self._v_mujoco] = plant.GetVelocities(self._state)[self._v_drake]
        effort = self._effort_port.Eval(self._state)[: self._motors]
        return PhysicsState(self._qpos, self._qvel, effort)

    def put(self, body: int, pose: np.ndarray) -> None:
        at = transform(pose[:3], pose[3:])
        if body in self._parts.frames:
            self._parts.frames[body].SetPoseInParentFrame(self._state, at)
        else:
            self._plant.SetFreeBodyPose(self._state, self._parts.bodies[body], at)

    def finger_force_n(self, bodies: frozenset[int]) -> np.ndarray:
        plant, parts = self._plant, self._parts
        results = plant.get_contact_results_output_port().Eval(self._state)
        model = self._build.model
        owner = {geometry: int(model.geom_bodyid[geom]) for geom, geometry in parts.geometries.items()}
        drake = {there.index(): body for body, there in parts.bodies.items()}
        force = np.zeros(len(self._build.finger_bodies))

        def note(first: int, second: int, size_n: float) -> None:
            for finger, body in enumerate(self._build.finger_bodies):
                if body in (first, second) and {first, second} - {body} & bodies:
                    force[finger] += size_n

        for number in range(results.num_hydroelastic_contacts()):
            contact = results.hydroelastic_contact_info(number)
            surface = contact.contact_surface()
            size_n = float(np.linalg.norm(contact.F_Ac_W().translational()))
            note(owner[surface.id_M()], owner[surface.id_N()], size_n)
        for number in range(results.num_point_pair_contacts()):
            contact = results.point_pair_contact_info(number)
            size_n = float(np.linalg.norm(contact.contact_force()))
            note(drake[contact.bodyA_index()], drake[contact.bodyB_index()], size_n)
        return force

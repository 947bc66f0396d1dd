"""DrakeWorld: one episode of a rehearsal cell, simulated by Drake."""

import numpy as np
from pydrake.systems.analysis import Simulator

from twinloop.deploy.rehearsal.cell_file import CellConfig
from twinloop.deploy.rehearsal.cell_layout import CellLayout
from twinloop.deploy.rehearsal.drives import CellDrives
from twinloop.deploy.rehearsal.plant import ContactMaterial, DrakePlant, Servos, plant_of, transform
from twinloop.deploy.rehearsal.sensors import CellSensors, Past
from twinloop.randomize.draw import episode_rng
from twinloop.twin.twin import Twin

STEP_S = 0.004
CREEP_RAD_S = 0.05  # speed scale of the tanh that smooths a joint's Coulomb friction
CLEAR_M = 0.09  # a person does not move the object while the tool is closer to it than this


class DrakeWorld:
    """Simulates one episode. Positions, velocities and efforts have the action's elements: arm joints, gripper."""

    def __init__(self, cell: CellConfig, twin: Twin, situation: CellLayout, episode: int):
        self.twin, self.situation = twin, situation
        values = situation.values
        self._arm = len(twin.arm_joints)
        self._fingers = len(twin.robot.gripper.joints)
        self._plant = self._build(twin, situation)
        self._context = self._plant.diagram.CreateDefaultContext()
        self._state = self._plant.plant.GetMyMutableContextFromRoot(self._context)
        home = np.array([*twin.robot.home_rad, twin.robot.gripper.open])
        self._lay_out(home)
        filtered = twin.arm_filters >= 0
        smoothing_s = np.where(filtered, twin.model.actuator_dynprm[twin.arm_controls, 0], 0.0)
        self._drives = CellDrives(
            values, home=home, smoothing_s=np.append(smoothing_s, 0.0), step_s=STEP_S,
            rng=episode_rng(cell.seed, episode, stream="drives"),
        )  # fmt: skip
        self.senses = CellSensors(
            values, joints=self._arm, period_s=twin.control_period_s,
            calibration=episode_rng(cell.seed, 0, stream="calibration"),
            rng=episode_rng(cell.seed, episode, stream="senses"),
        )  # fmt: skip
        joints = self._arm + 1
        self.past = Past({"position": joints, "velocity": joints, "effort": joints, "object": 7}, step_s=STEP_S)
        self._steps = 0
        self._visited = situation.visit is None
        self._simulator = Simulator(self._plant.diagram, self._context)
        self._simulator.Initialize()
        self._remember()

    @staticmethod
    def _build(twin: Twin, situation: CellLayout) -> DrakePlant:
        values, model = situation.values, twin.model
        offset_mm = [values[f"object_com_offset_mm.{axis}"] for axis in "xyz"]
        model.body_ipos[twin.object_body] = np.array(offset_mm) / 1000
        return plant_of(
            model,
            material=ContactMaterial(
                friction=values["friction_coefficient"],
                stiffness_pa=situation.stiffness_pa * values["contact_stiffness_scale"],
                dissipation_s_m=values["contact_dissipation_s_m"],
            ),
            servos=Servos(
                stiffness_scale=values["servo_stiffness_scale"],
                damping_scale=values["servo_damping_scale"],
                strength_scale=values["motor_strength_scale"],
                grip_scale=values["grip_force_scale"],
            ),
            timestep_s=STEP_S,
            fixtures=situation.fixtures,
            table_height_m=values["table_height_cm"] / 100,
            gravity_m_s2=situation.gravity_m_s2,
        )

    def _lay_out(self, home: np.ndarray) -> None:
        plant, state = self._plant.plant, self._state
        joints = self._spread(home)
        plant.SetPositions(state, self._plant.robot, joints)
        self._place(self.situation.object_pose)
        self._targets = plant.get_desired_state_input_port(self._plant.robot)
        self._drag = plant.get_applied_generalized_force_input_port()
        self._aim(joints)

    def _aim(self, joints: np.ndarray) -> None:
        self._targets.FixValue(self._state, np.concatenate([joints, np.zeros(len(joints))]))

    def _place(self, pose: np.ndarray) -> None:
        self._plant.plant.SetFreeBodyPose(self._state, self._plant.object, transform(pose[:3], pose[3:]))

    def _spread(self, command: np.ndarray) -> np.ndarray:
        """Return the joint positions of a command: the gripper's opening is divided equally among the fingers."""
        return np.concatenate([command[:-1], np.full(self._fingers, command[-1] / self._fingers)])

    def _gathered(self, joints: np.ndarray) -> np.ndarray:
        gathered = joints[: self._arm + 1].copy()
        gathered[-1] += joints[self._arm + 1 :].sum()
        return gathered

    @property
    def object_pose(self) -> np.ndarray:
        pose = self._plant.plant.EvalBodyPoseInWorld(self._state, self._plant.object)
        return np.concatenate([pose.translation(), pose.rotation().ToQuaternion().wxyz()])

    def _remember(self) -> None:
        plant, robot = self._plant.plant, self._plant.robot
        self.position = self._gathered(plant.GetPositions(self._state, robot))
        self.past.push({
            "position": self.position,
            "velocity": self._gathered(plant.GetVelocities(self._state, robot)),
            "effort": self._gathered(plant.get_net_actuation_output_port(robot).Eval(self._state)),
            "object": self.object_pose,
        })  # fmt: skip

    def command(self, action: np.ndarray) -> None:
        self._drives.receive(action, self.past.now_s)

    def halt(self) -> None:
        self._drives.halt(self.position)

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self._step()

    def _step(self) -> None:
        plant, now_s = self._plant.plant, self._steps * STEP_S
        self._aim(self._spread(self._drives.setpoint(now_s, self.position)))
        drag_nm = self.situation.values["joint_friction_nm"]
        if drag_nm > 0:
            drag = np.zeros(plant.num_velocities())
            drag[: self._arm] = -drag_nm * np.tanh(plant.GetVelocities(self._state)[: self._arm] / CREEP_RAD_S)
            self._drag.FixValue(self._state, drag)
        self._visit(now_s)
        self._steps += 1
        self._simulator.AdvanceTo(self._steps * STEP_S)
        self._remember()

    def _visit(self, now_s: float) -> None:
        visit = self.situation.visit
        if self._visited or visit is None or now_s < visit.at_s:
            return
        self._visited = True
        pose, tool = self.object_pose, self._plant.tool.CalcPoseInWorld(self._state).translation()
        if np.linalg.norm(pose[:3] - tool) > CLEAR_M:
            pose[:3] += visit.shift_m
            self._place(pose)

    def finger_force_n(self) -> np.ndarray:
        """Return (fingers,) the contact force of each finger on the object."""
        plant, fingers, thing = self._plant.plant, self._plant.fingers, self._plant.object
        results = plant.get_contact_results_output_port().Eval(self._state)
        force = np.zeros(len(fingers))
        pairs = [{*plant.GetCollisionGeometriesForBody(body)} for body in fingers]
        of_object = {*plant.GetCollisionGeometriesForBody(thing)}
        for index in range(results.num_hydroelastic_contacts()):
            contact = results.hydroelastic_contact_info(index)
            touching = {contact.contact_surface().id_M(), contact.contact_surface().id_N()}
            for finger, own in enumerate(pairs):
                if touching & own and touching & of_object:
                    force[finger] += np.linalg.norm(contact.F_Ac_W().translational())
        for index in range(results.num_point_pair_contacts()):
            contact = results.point_pair_contact_info(index)
            for finger, body in enumerate(fingers):
                if {contact.bodyA_index(), contact.bodyB_index()} == {body.index(), thing.index()}:
                    force[finger] += np.linalg.norm(contact.contact_force())
        return force

    def object_speed_m_s(self) -> float:
        velocity = self._plant.plant.EvalBodySpatialVelocityInWorld(self._state, self._plant.object)
        return float(np.linalg.norm(velocity.translational()))

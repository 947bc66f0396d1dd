"""CellWorld: one episode of a rehearsal cell in any engine: commands, drives, effects, people and past states."""

import mujoco
import numpy as np

from twinloop.deploy.rehearsal.cell_build import CellBuild, build_of
from twinloop.deploy.rehearsal.cell_file import CellConfig
from twinloop.deploy.rehearsal.cell_layout import CellLayout
from twinloop.deploy.rehearsal.drives import CellDrives
from twinloop.deploy.rehearsal.effects import BY_EFFECT, EffectScene
from twinloop.deploy.rehearsal.physics import STEP_S, PhysicsState, physics_of
from twinloop.deploy.rehearsal.sensors import CellSensors, Past
from twinloop.deploy.rehearsal.true_scene import TrueScene
from twinloop.randomize.draw import episode_rng
from twinloop.twin.table import PIVOT_M
from twinloop.twin.twin import Twin

CREEP_RAD_S = 0.05  # speed scale of the tanh that smooths a joint's Coulomb friction
CLEAR_M = 0.09  # a person does not move a thing while the tool is closer to it than this
LINK_INERTIA_KGM2 = 0.01  # least inertia that a joint turns, besides its motor's


class CellWorld:
    """Simulates one episode. Positions, velocities and efforts have the action's elements: joints, grippers."""

    def __init__(self, cell: CellConfig, situation: CellLayout, episode: int):
        self.situation = situation
        self.build: CellBuild = build_of(cell, situation)
        twin, values = self.build.twin, situation.values
        self.twin: Twin = twin
        self.scene = TrueScene(self.build, dict(situation.roles))
        self._physics = physics_of(cell.engine, self.build, self._start())
        home = np.array(twin.robot.home)
        filtered = twin.arm_filters >= 0
        smoothing_s = np.where(filtered, twin.model.actuator_dynprm[twin.arm_controls, 0], 0.0)
        self._drives = CellDrives(
            values, home=home, joints=twin.joints, step_s=STEP_S,
            smoothing_s=np.append(smoothing_s * self.build.own.filter, np.zeros(len(twin.arms))),
            rng=episode_rng(cell.seed, episode, stream="drives"),
        )  # fmt: skip
        things = tuple(index.columns.start for index in twin.things)
        self.senses = CellSensors(
            values, joints=len(twin.arm_joints), period_s=twin.control_period_s, things=things,
            calibration=episode_rng(cell.seed, 0, stream="calibration"),
            rng=episode_rng(cell.seed, episode, stream="senses"),
        )  # fmt: skip
        self._effects = self._effects_of(cell, episode, things)
        size = len(home)
        self.past = Past(
            {"position": size, "velocity": size, "effort": size, "environment": twin.environment_size}, step_s=STEP_S
        )
        self._steps, self._visited = 0, situation.visit is None
        self._placed, self.table = dict(self.build.placed), self.build.table
        self._targets = self.build.targets(home)
        self._friction_nm, self._creep_rad_s = self._joint_friction()
        self._bias_nm = np.zeros(len(twin.arm_joints))
        self._nominal = mujoco.MjData(twin.model)
        # The compensation of an arm knows the direction of gravity, but not the cell's own masses.
        twin.model.opt.gravity[:] = self.build.model.opt.gravity[:] = situation.gravity_m_s2
        self._environment = self._nominal_environment()
        self._remember()
        self._compensate()

    def _start(self) -> np.ndarray:
        """Return the coordinates of the MuJoCo model at the start of the episode."""
        twin, start = self.twin, self.situation.start
        qpos = self.build.model.qpos0.copy()
        qpos[twin.arm_qpos] = twin.robot.home_rad
        for arm in twin.arms:
            qpos[arm.gripper_qpos] = arm.arm.gripper.open / len(arm.gripper_qpos)
        for index in twin.things:
            pose = qpos[index.qpos : index.qpos + 7]
            pose[:] = start.poses[index.name][0]
            # Things stand on the cell's own table.
            slope = self.build.own.table_slope
            pose[2] += self.build.own.table_m + slope @ (pose[:2] - PIVOT_M[:2])
        for index in twin.fixtures:
            if index.joint_qpos >= 0:
                qpos[index.joint_qpos] = start.values.get(index.name, np.zeros(1))[0]
        model = self.build.model
        for equality in range(model.neq):
            # Joints that follow others begin where those have them.
            first, second = (
                int(model.jnt_qposadr[int(joint)]) for joint in (model.eq_obj1id[equality], model.eq_obj2id[equality])
            )
            constant, ratio = model.eq_data[equality, :2]
            qpos[first] = model.qpos0[first] + constant + ratio * (qpos[second] - model.qpos0[second])
        return qpos

    def _effects_of(self, cell: CellConfig, episode: int, things: tuple[int, ...]) -> list:
        twin = self.twin
        poses = tuple(index.columns.start for index in (*twin.things, *twin.fixtures))
        scene = EffectScene(
            np.array(twin.arms[0].arm.base_m), max(twin.robot.torque_limits_nm), len(twin.arm_joints), things, poses
        )
        return [
            BY_EFFECT[name].run(size, scene, episode_rng(cell.seed, episode, stream=f"effect {name}"))
            for name, size in cell.effects.items()
            if size > 0
        ]

    def _joint_friction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the Coulomb friction of the arm's joints, and the speed below which it is smoothed."""
        model, dofs = self.build.model, self.twin.arm_dofs
        friction = (
            self.situation.values["joint_friction_nm"] + self.build.own.friction_nm + model.dof_frictionloss[dofs]
        )
        # Friction acts explicitly: a light joint needs more smoothing to be stable.
        light = 2 * friction * STEP_S / (model.dof_armature[dofs] + LINK_INERTIA_KGM2)
        return friction, np.maximum(CREEP_RAD_S, light)

    def _nominal_environment(self) -> np.ndarray:
        """Return the environment state as the layout has it, and find where moving elements come from."""
        environment = np.zeros(self.twin.environment_size)
        columns, coordinates = [], []
        for index in self.twin.things:
            columns += range(index.columns.start, index.columns.start + 7)
            coordinates += range(index.qpos, index.qpos + 7)
        for index in self.twin.fixtures:
            environment[index.columns.start : index.columns.start + 7] = self.situation.start.poses[index.name][0]
            if index.joint_qpos >= 0:
                columns.append(index.columns.stop - 1)
                coordinates.append(index.joint_qpos)
        self._moving = np.array(columns), np.array(coordinates)
        return environment

    def _remember(self) -> None:
        twin, state = self.twin, self._physics.read()
        self._state: PhysicsState = state
        openings = [state.qpos[arm.gripper_qpos].sum() for arm in twin.arms]
        self.position = np.append(state.qpos[twin.arm_qpos], openings)
        self.velocity = np.append(state.qvel[twin.arm_dofs], [state.qvel[arm.gripper_dofs].sum() for arm in twin.arms])
        columns, coordinates = self._moving
        self._environment[columns] = state.qpos[coordinates]
        environment = self._environment
        for effect in self._effects:
            environment = effect.tracked(self._steps * STEP_S, environment.copy())
        self.past.push({
            "position": self.position,
            "velocity": self.velocity,
            "effort": self.build.by_opening(state.effort),
            "environment": environment,
        })  # fmt: skip

    def command(self, action: np.ndarray) -> None:
        self._drives.receive(action, self.past.now_s)

    def halt(self) -> None:
        self._drives.halt(self.position)

    def pass_time(self, seconds: float) -> None:
        for step in range(round(seconds / STEP_S)):
            if step % 10 == 0:
                self._compensate()
            self._step()

    def _compensate(self) -> None:
        """Compute the torques of what the arm's gravity compensation does not know, and of forces on the hand.

        They change slowly, so once per control period is enough.
        """
        twin, model = self.twin, self.build.model
        torque = np.zeros(len(twin.arm_joints))
        if self.build.compensated:
            own = _gravity_nm(model, self.scene.data, self._state.qpos)[twin.arm_dofs]
            torque += _gravity_nm(twin.model, self._nominal, self._state.qpos)[twin.arm_dofs] - own
        for effect in self._effects:
            data = self.scene.data
            data.qpos[:] = self._state.qpos
            mujoco.mj_kinematics(model, data)
            force_n = effect.tool_force_n(data.site_xpos[twin.tool_site])
            if force_n is not None:
                mujoco.mj_comPos(model, data)
                jacobian = np.zeros((3, model.nv))
                mujoco.mj_jacSite(model, data, jacobian, None, twin.tool_site)
                torque += jacobian[:, twin.arm_dofs].T @ force_n
        self._bias_nm = torque

    def _step(self) -> None:
        now_s, arm = self._steps * STEP_S, len(self.twin.arm_joints)
        setpoint = self._drives.setpoint(now_s, self.position)
        pushes: dict[int, np.ndarray] = {}
        for effect in self._effects:
            setpoint = effect.setpoint(now_s, setpoint, self.position)
            shake = effect.shake_m_s2(now_s)
            if shake is not None:
                pushes |= {index.body: self.build.model.body_mass[index.body] * shake for index in self.twin.things}
            pose = effect.table_pose(now_s)
            if pose is not None:
                self._move_table(*pose)
        targets = self.build.targets(setpoint)
        rates = np.zeros(len(targets))
        rates[:arm] = self.build.own.feed_forward * (targets - self._targets)[:arm] / STEP_S
        self._targets = targets
        torque = self._bias_nm - self._friction_nm * np.tanh(self.velocity[:arm] / self._creep_rad_s)
        self._visit(now_s)
        self._follow_paths(now_s)
        self._steps += 1
        self._physics.step(targets, rates, torque, pushes)
        self._remember()

    def _follow_paths(self, now_s: float) -> None:
        for index in self.twin.fixtures:
            if index.fixture.path is not None:
                pose = index.fixture.path(self.situation.draw, np.array([now_s]))[0]
                self._placed[index.body] = pose
                self._environment[index.columns.start : index.columns.start + 7] = pose
                self._physics.put(index.body, pose)

    def _move_table(self, sunk_m: float, tilt_rad: float) -> None:
        """Move the table and all that stands on it: down, and about an axis along y in the middle of the workspace."""
        turn = np.array([np.cos(tilt_rad / 2), 0.0, np.sin(tilt_rad / 2), 0.0])
        self.table = _turned(self.build.table, turn, sunk_m)
        self._physics.put(self.twin.table_body, self.table)
        for body, pose in self.build.placed.items():
            self._placed[body] = _turned(pose, turn, sunk_m)
            self._physics.put(body, self._placed[body])

    def _visit(self, now_s: float) -> None:
        visit = self.situation.visit
        if self._visited or visit is None or now_s < visit.at_s:
            return
        self._visited = True
        first, data = self.twin.things[0], self.scene.data
        data.qpos[:] = self._state.qpos
        mujoco.mj_kinematics(self.build.model, data)
        pose = self._state.qpos[first.qpos : first.qpos + 7].copy()
        tools_m = data.site_xpos[[arm.tool_site for arm in self.twin.arms]]
        if np.linalg.norm(pose[:3] - tools_m, axis=1).min() > CLEAR_M:
            pose[:3] += visit.shift_m
            self._physics.put(first.body, pose)

    def look(self) -> TrueScene:
        """Return the true scene, with contact forces."""
        state, twin = self._physics.read(), self.twin
        self.scene.take(state.qpos, state.qvel, self._placed)
        alone = len(twin.things) == 1 and not any(index.joint_qpos >= 0 for index in twin.fixtures)
        robot = {body for body in range(self.build.model.nbody) if twin.model.body(body).name.startswith("robot/")}
        counted = {twin.things[0].body} if alone else set(range(1, self.build.model.nbody)) - robot
        self.scene.finger_force_n = self._physics.finger_force_n(frozenset(counted))[None]
        return self.scene

    def true_readings(self) -> dict[str, np.ndarray]:
        """Return the channels of the sensors without delay, error or effects of a tracker."""
        present = {name: self.past.at(name, self.past.now_s) for name in ("position", "velocity", "effort")}
        return {**present, "environment": self._environment.copy()}

    @property
    def coordinates(self) -> np.ndarray:
        """Return the coordinates of the MuJoCo model."""
        return self._state.qpos

    def kinematics(self) -> mujoco.MjData:
        """Return the present kinematics of all bodies."""
        self.scene.take(self._state.qpos, self._state.qvel, self._placed)
        return self.scene.data


def _gravity_nm(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> np.ndarray:
    """Return the generalized forces that hold the model still."""
    data.qpos[:] = qpos
    data.qvel[:] = 0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    bias = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 0, bias)
    return bias


def _turned(pose: np.ndarray, turn: np.ndarray, sunk_m: float) -> np.ndarray:
    """Return the pose after a turn about the pivot of the table and a drop."""
    out, arm_m = pose.copy(), np.zeros(3)
    mujoco.mju_rotVecQuat(arm_m, pose[:3] - PIVOT_M, turn)
    out[:3] = PIVOT_M + arm_m - [0, 0, sunk_m]
    mujoco.mju_mulQuat(out[3:], turn, pose[3:])
    return out

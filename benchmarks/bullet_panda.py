"""A Panda in PyBullet as a live robot: an engine, a model and numbers that share nothing with Twinloop.

Needs `pip install pybullet`. Arm and hand are those of PyBullet's own URDF. Servos, delays, tracker and effects are
written here and use neither the drives nor the rows of Twinloop. Positions are in metres in the frame of the base.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pybullet  # pyright: ignore[reportMissingModuleSource]
import pybullet_data  # pyright: ignore[reportMissingModuleSource]
from pybullet_utils.bullet_client import BulletClient  # pyright: ignore[reportMissingModuleSource]

from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.deploy.twin_robot import TwinRobot

STEP_S, PERIOD_S = 1 / 2000, 0.04
PAUSE_S, SETTLE_PERIODS = 20.0, 10
PICK_M, GOAL_M, GOAL_RADIUS_M = np.array([0.46, -0.13]), np.array([0.52, 0.17, 0.0]), 0.05
TABLE_HALF_M = (0.35, 0.6, 0.02)
ARM, FINGERS, TIP, HAND = tuple(range(7)), (9, 10), 11, 6
STIFFNESS_NM_RAD = 1.3 * np.array([900.0, 1100, 800, 900, 260, 180, 60])
DAMPING_NMS_RAD = 1.3**0.5 * np.array([45.0, 55, 35, 40, 7, 5, 1.5])
FRICTION_NM = 0.4 * np.array([1, 1, 0.9, 0.9, 0.5, 0.5, 0.4])
CREEP_RAD_S = 0.08
TORQUE_NM = np.array([87.0, 87, 87, 87, 12, 12, 12])
SMOOTHING_S, SPEED_MARGIN = 0.012, 1.3
GRIP_N, GRIP_N_M, GRIP_NS_M, COUPLING_N_M = 30.0, 1500.0, 60.0, 1500.0
TORQUE_NOISE_NM, ENCODER_NOISE_RAD = 0.15, 2e-4
OPEN_M, CLEAR_M, CLING_M = 0.045, 0.09, 0.012
ANCHOR_M, SLACK_M = np.array([0.3, -0.45, 0.75]), 0.45


@dataclass(frozen=True)
class BulletCell:
    """Numbers of a cell. The defaults are those of a cell in which nothing is open.

    Attributes:
        seed: of the errors of the arm's masses and servos, which every cell has, and of the episodes.
        friction: coefficient of every pair of bodies.
        shove_probability, shove_m: how often somebody moves the object, and how far.
        cable_n_m: stiffness of a cable that pulls at the hand.
        clinging_n: force with which the object sticks to an opening finger.
        sticky_n: force that holds the object where it lies at the start.
        stick_slip_nm: torque that a resting joint needs to start.
        warp_m: error of the tracker that depends on the position.
    """

    seed: int
    friction: float = 0.9
    mass_kg: float = 0.14
    half_m: float = 0.02
    stiffness_scale: float = 1.0
    grip_scale: float = 1.0
    action_delay_ms: float = 8.0
    observation_delay_ms: float = 4.0
    tracker_delay_ms: float = 10.0
    tracker_noise_mm: float = 0.4
    tracker_bias_mm: tuple[float, float] = (0.0, 0.0)
    table_height_m: float = 0.0
    start_spread_m: float = 0.02
    shove_probability: float = 0.0
    shove_m: float = 0.05
    cable_n_m: float = 0.0
    clinging_n: float = 0.0
    sticky_n: float = 0.0
    stick_slip_nm: float = 0.0
    warp_m: float = 0.0


class BulletPanda:
    """The cell as a live robot in lockstep, for pick_and_place."""

    def __init__(self, cell: BulletCell):
        self._cell = cell
        twin = TwinRobot()
        self._about = replace(twin.connect(), id=f"bullet-{cell.seed}")
        twin.close()
        self._clock_s = 50.0
        rng = np.random.default_rng([cell.seed, 1])
        self._mass_errors = 1 + 0.04 * rng.standard_normal(len(ARM))
        servo_errors = 1 + 0.08 * rng.standard_normal(len(ARM))
        self._stiffness = STIFFNESS_NM_RAD * cell.stiffness_scale * servo_errors
        self._damping = DAMPING_NMS_RAD * np.sqrt(cell.stiffness_scale)

    def connect(self) -> Description:
        self._engine = BulletClient(connection_mode=pybullet.DIRECT)
        return self._about

    def describe(self) -> Description:
        return self._about

    def begin(self, episode: int) -> Briefing:
        self._rng = np.random.default_rng([self._cell.seed, 2, episode])
        self._build()
        home = np.array(self._about.home)
        self._target, self._smoothed, self._opening = home[:7], home[:7].copy(), home[7]
        self._commands: deque[tuple[float, np.ndarray]] = deque()
        self._past: deque[tuple[np.ndarray, ...]] = deque(maxlen=round(1 / STEP_S))
        self._time_s, self._sequence = 0.0, -1
        shoved = self._rng.random() < self._cell.shove_probability
        self._shove_s = self._rng.uniform(0.5, 4.0) if shoved else np.inf
        self._clock_s += PAUSE_S
        self._remember(np.zeros(8))
        self._read()
        human = "present" if self._cell.shove_probability else "absent"
        conditions = {"object": "cube", "light": "normal", "human": human}
        return Briefing("pick up the cube and place it in the target zone", conditions)

    def observe(self) -> Reading:
        return self._reading

    def act(self, action: np.ndarray) -> None:
        low, high = self._about.limits.position.T
        due_s = self._time_s + self._cell.action_delay_ms / 1000
        self._commands.append((due_s, np.clip(np.asarray(action, float), low, high)))
        self._pass_period()

    def stop(self) -> None:
        self._commands.clear()
        self._target = self._joints()[0][:7]
        self._pass_period()

    def end(self) -> Outcome:
        for _ in range(SETTLE_PERIODS):
            self.stop()
        return Outcome(self._achieved(), "judged by the cell")

    def close(self) -> None:
        if self._engine.isConnected():
            self._engine.disconnect()

    def _build(self) -> None:
        """Lay out the scene of an episode."""
        engine, cell = self._engine, self._cell
        engine.resetSimulation()
        engine.setAdditionalSearchPath(pybullet_data.getDataPath())
        engine.setTimeStep(STEP_S)
        engine.setGravity(0, 0, -9.81)
        engine.setPhysicsEngineParameter(numSolverIterations=80, enableConeFriction=1)
        top_m = cell.table_height_m
        friction = np.sqrt(cell.friction)  # Bullet multiplies those of two bodies
        shape = engine.createCollisionShape(pybullet.GEOM_BOX, halfExtents=TABLE_HALF_M)
        self._table = engine.createMultiBody(0, shape, basePosition=[0.45, 0, top_m - TABLE_HALF_M[2]])
        engine.changeDynamics(self._table, -1, lateralFriction=friction)
        self._arm = engine.loadURDF(
            "franka_panda/panda.urdf", useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE
        )
        for joint, angle in zip(ARM, self._about.home, strict=False):
            engine.resetJointState(self._arm, joint, angle)
            mass = engine.getDynamicsInfo(self._arm, joint)[0]
            engine.changeDynamics(self._arm, joint, mass=mass * self._mass_errors[joint])
        for finger in FINGERS:
            engine.resetJointState(self._arm, finger, self._about.home[7] / 2)
            engine.changeDynamics(self._arm, finger, lateralFriction=friction, spinningFriction=0.01)
        for joint in (*ARM, *FINGERS):
            engine.changeDynamics(self._arm, joint, linearDamping=0, angularDamping=0, jointDamping=0)
            engine.setJointMotorControl2(self._arm, joint, pybullet.VELOCITY_CONTROL, force=0)
        for link in range(-1, HAND):  # the base stands where the table begins
            engine.setCollisionFilterPair(self._arm, self._table, link, -1, 0)
        spread_m = cell.start_spread_m * self._rng.uniform(-1, 1, 2)
        shape = engine.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[cell.half_m] * 3)
        self._cube = engine.createMultiBody(
            cell.mass_kg, shape, basePosition=[*(PICK_M + spread_m), top_m + cell.half_m + 5e-4]
        )
        engine.changeDynamics(self._cube, -1, lateralFriction=friction, spinningFriction=0.005, linearDamping=0)
        self._start_m = PICK_M + spread_m

    def _joints(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the arm's joints and the two fingers."""
        states = self._engine.getJointStates(self._arm, (*ARM, *FINGERS))
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def _cube_m(self) -> np.ndarray:
        return np.array(self._engine.getBasePositionAndOrientation(self._cube)[0])

    def _tip_m(self) -> np.ndarray:
        return np.array(self._engine.getLinkState(self._arm, TIP)[4])

    def _pass_period(self) -> None:
        for _ in range(round(PERIOD_S / STEP_S)):
            self._step()
        self._clock_s += PERIOD_S
        self._read()

    def _step(self) -> None:
        while self._commands and self._commands[0][0] <= self._time_s:
            _, command = self._commands.popleft()
            self._target, self._opening = command[:7], command[7]
        fastest = SPEED_MARGIN * STEP_S * self._about.limits.velocity[:7]
        self._smoothed += np.clip((self._target - self._smoothed) * STEP_S / SMOOTHING_S, -fastest, fastest)
        positions, velocities = self._joints()
        still = [0.0] * len(positions)
        gravity = np.array(self._engine.calculateInverseDynamics(self._arm, positions.tolist(), still, still))
        servo = self._stiffness * (self._smoothed - positions[:7]) - self._damping * velocities[:7]
        servo = np.clip(servo, -TORQUE_NM, TORQUE_NM)
        torque = servo + gravity[:7] - FRICTION_NM * np.tanh(velocities[:7] / CREEP_RAD_S)
        torque += self._disturbance(positions, velocities, servo)
        grip = GRIP_N_M * (self._opening / 2 - positions[7:]) - GRIP_NS_M * velocities[7:]
        limit_n = GRIP_N * self._cell.grip_scale
        grip = np.clip(grip, -limit_n, limit_n) + gravity[7:]
        grip += COUPLING_N_M * (positions[7] - positions[8]) * np.array([-1, 1])
        forces = np.concatenate([torque, grip])
        self._engine.setJointMotorControlArray(
            self._arm, (*ARM, *FINGERS), pybullet.TORQUE_CONTROL, forces=forces.tolist()
        )
        self._act_on_cube()
        self._engine.stepSimulation()
        self._time_s += STEP_S
        self._remember(np.append(servo, grip.mean()))

    def _disturbance(self, positions: np.ndarray, velocities: np.ndarray, servo: np.ndarray) -> np.ndarray:
        """Torques of effects that no row of Twinloop describes."""
        cell, torque = self._cell, np.zeros(len(ARM))
        if cell.cable_n_m:
            away = ANCHOR_M - self._tip_m()
            length = np.linalg.norm(away)
            force_n = cell.cable_n_m * max(0.0, length - SLACK_M) * away / length
            still = [0.0] * len(positions)
            jacobian, _ = self._engine.calculateJacobian(self._arm, TIP, [0, 0, 0], positions.tolist(), still, still)
            torque += np.array(jacobian).T[:7] @ force_n
        if cell.stick_slip_nm:
            resting = np.abs(velocities[:7]) < 0.01
            torque -= resting * np.clip(servo, -cell.stick_slip_nm, cell.stick_slip_nm)
        return torque

    def _act_on_cube(self) -> None:
        """Shoves by somebody, and forces that no row of Twinloop describes."""
        engine, cell = self._engine, self._cell
        if self._time_s >= self._shove_s:
            self._shove_s = np.inf
            place, turn = engine.getBasePositionAndOrientation(self._cube)
            if np.linalg.norm(self._tip_m() - place) > CLEAR_M:
                angle = self._rng.uniform(0, 2 * np.pi)
                shift_m = cell.shove_m * np.array([np.cos(angle), np.sin(angle), 0])
                engine.resetBasePositionAndOrientation(self._cube, place + shift_m, turn)
        if cell.sticky_n:
            place = self._cube_m()
            lying = place[2] < cell.table_height_m + cell.half_m + 0.004
            if lying and np.linalg.norm(place[:2] - self._start_m) < 0.03:
                engine.applyExternalForce(self._cube, -1, [0, 0, -cell.sticky_n], place, pybullet.WORLD_FRAME)
        if cell.clinging_n and self._opening > OPEN_M:
            near = engine.getClosestPoints(self._arm, self._cube, CLING_M, FINGERS[0])
            if near:
                away = np.array(near[0][5]) - near[0][6]
                force_n = cell.clinging_n * away / (np.linalg.norm(away) + 1e-9)
                engine.applyExternalForce(self._cube, -1, force_n, self._cube_m(), pybullet.WORLD_FRAME)

    def _remember(self, effort: np.ndarray) -> None:
        positions, velocities = self._joints()
        place, (x, y, z, w) = self._engine.getBasePositionAndOrientation(self._cube)
        environment = np.array([*place, w, x, y, z, *GOAL_M, 1, 0, 0, 0])
        by_opening = [np.append(values[:7], values[7:].sum()) for values in (positions, velocities)]
        self._past.append((*by_opening, effort, environment))

    def _before(self, delay_ms: float) -> tuple[np.ndarray, ...]:
        return self._past[max(0, len(self._past) - 1 - round(delay_ms / 1000 / STEP_S))]

    def _read(self) -> None:
        cell, rng = self._cell, self._rng
        self._sequence += 1
        position, velocity, effort, _ = (values.copy() for values in self._before(cell.observation_delay_ms))
        environment = self._before(cell.tracker_delay_ms)[3].copy()
        bias_m = cell.warp_m * np.sin(9 * environment[[1, 0]]) + np.array(cell.tracker_bias_mm) / 1000
        environment[:2] += bias_m
        environment[:3] += cell.tracker_noise_mm / 1000 * rng.standard_normal(3)
        position[:7] += ENCODER_NOISE_RAD * rng.standard_normal(7)
        effort[:7] += TORQUE_NOISE_NM * rng.standard_normal(7)
        features = {
            "observation.state": position,
            "observation.velocity": velocity,
            "observation.effort": effort,
            "observation.environment_state": environment,
        }
        readings = {name: values.astype(np.float32) for name, values in features.items()}
        self._reading = Reading(self._sequence, self._clock_s, readings, achieved=self._achieved())

    def _achieved(self) -> bool:
        """Whether the cube lies still in the zone, and the open hand does not touch it."""
        place, speed = self._cube_m(), np.linalg.norm(self._engine.getBaseVelocity(self._cube)[0])
        in_zone = np.linalg.norm(place[:2] - GOAL_M[:2]) < GOAL_RADIUS_M
        lying = place[2] < self._cell.table_height_m + 2 * self._cell.half_m
        free = self._joints()[0][7:].sum() > OPEN_M and not self._engine.getContactPoints(self._arm, self._cube)
        return bool(in_zone and lying and speed < 0.02 and free)

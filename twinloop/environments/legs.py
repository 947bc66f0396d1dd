"""LegsEmbodiment: a legged robot that follows velocity commands."""

from collections.abc import Callable

import numpy as np

from twinloop.environments.embodiment import ActionScale, TermDefaults
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.walk_commands import WalkCommands
from twinloop.environments.walk_outcome import WalkOutcome
from twinloop.observe.recording import Feature
from twinloop.observe.walk_sensors import WalkSensors
from twinloop.randomize.draw import Draws
from twinloop.run.walk import WalkConfig, walk_twin_of
from twinloop.simulate.biped_expert import BipedExpert
from twinloop.simulate.drive import Drive
from twinloop.simulate.engine import Engine, EngineConfig, make_engine
from twinloop.simulate.trot import TrotExpert
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.walk_twin import WalkTwin

OBSERVATIONS = (
    "observation.state", "observation.velocity", "observation.imu", "observation.command", "observation.last_target",
)  # fmt: skip
PRIVILEGED = ("base_velocity", "foot_contact", "drawn")
REWARDS = {
    "track_velocity": 0.1, "velocity_error": -0.1, "track_turn": 0.05, "gait": 0.05, "alive": 0.05,
    "vertical_speed": -0.03, "roll_pitch_rate": -0.001, "tilt": -0.1, "base_height": -1.0, "swing_height": -3.0,
    "foot_slip": -0.005, "joint_effort": -5e-6, "joint_acceleration": -5e-9, "pose": -0.005, "action_rate": -0.002,
    "falls": -1.0,
}  # fmt: skip
TERMINATIONS = ("collided", "slipped", "tripped", "fell", "stuck")


class LegsEmbodiment(MobileEmbodiment):
    """`width` simulations of a legged robot.

    Args:
        physics: (twin, width) -> another engine than MuJoCo, for rehearsals.

    Attributes:
        cell: the simulated robots, which terms read.
        commands: velocity commands.
        outcome: how the episodes go: velocity errors, falls and their names.
        acceleration_rad_s2: (width, joints) mean acceleration of the joints in the last control period.
    """

    kind = "legs"
    unfinished = "stuck"
    asked = tuple(("observation.command", name) for name in WalkCommands.NAMES[:3])

    def __init__(
        self,
        config: WalkConfig,
        *,
        width: int,
        threads: int = 1,
        seed: int,
        engine: EngineConfig = EngineConfig(),  # noqa: B008
        physics: Callable[[WalkTwin, int], Engine] | None = None,
    ):
        self.config, self.width = config, width
        self.twin = twin = walk_twin_of(config)
        steps = physics(twin, width) if physics else make_engine(engine, twin.model, width=width, threads=threads)
        self.cell = WalkCell(twin, width=width, engine=steps)
        self.robot, self.instruction = twin.robot.name, config.scene.task.instruction
        self.rate_hz, self.longest_ticks = float(twin.control_hz), twin.longest_ticks
        joints = twin.robot.joints
        self.action = Feature("action", "float32", (len(joints),), joints, "rad")
        self.features = (
            Feature("observation.state", "float32", (len(joints),), joints, "rad"),
            Feature("observation.velocity", "float32", (len(joints),), joints, "rad/s"),
            Feature("observation.imu", "float32", (6,), (*(f"turn_{a}" for a in "xyz"), *(f"down_{a}" for a in "xyz"))),
            Feature("observation.command", "float32", (5,), WalkCommands.NAMES),
            Feature("observation.last_target", "float32", (len(joints),), joints, "rad"),
        )  # fmt: skip
        limits = twin.model.jnt_range[twin.arm_joints]
        self.rest = home = np.array(twin.robot.home_rad)
        self.scale = ActionScale(
            relative=np.zeros(len(joints), bool), centre=home, span=np.full(len(joints), twin.robot.action_scale_rad),
            lowest=limits[:, 0], highest=limits[:, 1],
        )  # fmt: skip
        privileged = PRIVILEGED if twin.terrain.heights_m is None else (*PRIVILEGED, "height_scan")
        self.defaults = TermDefaults(
            observations=OBSERVATIONS, rewards=dict(REWARDS), terminations=TERMINATIONS, privileged=privileged
        )
        self._prepare_draws()
        self.acceleration_rad_s2 = np.zeros((width, len(joints)))
        self._speed_before = np.zeros((width, len(joints)))
        self._target = np.tile(home, (width, 1))
        self.commands = WalkCommands(twin, config.commands, width=width)
        self.outcome = WalkOutcome(self.cell, self.commands)
        self._expert: TrotExpert | BipedExpert | None = None
        self._expert_rad = np.tile(home, (width, 1))
        self.reseed(seed)

    def use_expert(self) -> None:
        kind = BipedExpert if len(self.twin.robot.feet) == 2 else TrotExpert
        self._expert = kind(self.twin, width=self.width)

    def expert_command(self) -> np.ndarray:
        return self._expert_rad

    def _ask_expert(self, ids: np.ndarray | None) -> None:
        if self._expert is not None:
            phase = self.commands.phase(self.cell.tick)
            targets = self._expert.targets(self.cell, self.commands.velocity, phase, self.commands.moving, ids)
            part = slice(None) if ids is None else ids
            self._expert_rad[part] = np.clip(targets, self.scale.lowest, self.scale.highest)[part]

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self._sensors = WalkSensors(self.twin, width=self.width, seed=seed)
        self._drive = Drive(self.cell, seed=seed)  # pyright: ignore

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.cell.admit(ids, draws, rows, seed=self._seed)
        self._drive.begin(ids, draws, rows)
        self._sensors.begin(ids, draws, rows)
        self.commands.begin(ids, draws.attempts[rows], seed=self._seed)
        self.outcome.begin(ids)
        self._target[ids] = self.twin.robot.home_rad
        self._speed_before[ids] = self.acceleration_rad_s2[ids] = 0
        if self._expert is not None:
            self._expert.begin(ids)
            self._ask_expert(ids)
        self._scale_draws(ids, draws, rows)

    def step(self, ids: np.ndarray | None, command: np.ndarray) -> None:
        part = slice(None) if ids is None else ids
        self._target[part] = command[part]
        with np.errstate(all="ignore"):  # slots with a diverged state, whose results are not used
            self.cell.step(ids, self._drive.carry(command, ids))
            speed = self.cell.arm_velocity_rad_s
            self.acceleration_rad_s2[part] = ((speed - self._speed_before) / self.twin.control_period_s)[part]
            self._speed_before[part] = speed[part]
            self.outcome.update(ids)
        self.commands.update(self.cell.tick)
        self._ask_expert(ids)

    def observe(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        seen = self._sensors.look(self.cell, ids)
        part = slice(None) if ids is None else ids
        return {
            "observation.state": seen["position"].astype(np.float32),
            "observation.velocity": seen["velocity"].astype(np.float32),
            "observation.imu": np.concatenate([seen["gyro"], seen["gravity"]], axis=1).astype(np.float32),
            "observation.command": self.commands.observed(self.cell.tick)[part].astype(np.float32),
            "observation.last_target": self._target[part].astype(np.float32),
        }

    def surrounding_poses(self) -> np.ndarray:
        return self.cell.base_pose()

    @property
    def checks(self) -> dict[str, np.ndarray]:
        outcome = self.outcome
        return {"velocity_error_m_s": outcome.velocity_error_m_s, "turn_error_rad_s": outcome.turn_error_rad_s}

    def succeeded(self) -> np.ndarray:
        """(width,) the robot is on its feet and follows its commands."""
        return ~self.outcome.fallen & ~self.outcome.stuck

    def diverged(self, tick: np.ndarray) -> np.ndarray:
        return self.cell.diverged(tick * self.twin.control_period_s)

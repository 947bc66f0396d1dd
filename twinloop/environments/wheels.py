"""WheelsEmbodiment: a robot on wheels that goes to a goal in a room, without touching anything."""

import numpy as np

from twinloop.environments.embodiment import ActionScale, TermDefaults
from twinloop.environments.mobile import BASE, BASE_NAMES, MobileEmbodiment
from twinloop.environments.wheels_outcome import WheelsOutcome
from twinloop.observe.recording import Feature
from twinloop.observe.wheel_sensors import WheelSensors
from twinloop.randomize.draw import Draws
from twinloop.run.wheels import WheelsConfig, wheel_twin_of
from twinloop.simulate.drive import Drive
from twinloop.simulate.engine import EngineConfig, make_engine
from twinloop.simulate.navigator import Navigator
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.floor_plan import MOST_PEOPLE

OBSERVATIONS = ("observation.nearness", "observation.goal", "observation.speed", "observation.last_target")
PRIVILEGED = ("goal_place", "people", "drawn")
REWARDS = {"way_gain": 1.0, "reached": 5.0, "touched": -15.0, "near": -0.1, "turning": -0.003, "alive": -0.01}
TERMINATIONS = ("no_path", "arrived", "collided", "stuck")
NO_PATH = "no_path"


class WheelsEmbodiment(MobileEmbodiment):
    """`width` simulations of a robot on wheels.

    Attributes:
        cell: the simulated robots, which terms read.
        outcome: how the episodes go: progress, clearance, collisions.
        navigator: the scripted expert; it also knows the way to the goal from everywhere.
        blocked: (width,) the room has no way from start to goal.
    """

    kind = "wheels"
    unfinished = "timeout"
    takes_speeds = True
    surroundings = Feature(
        BASE, "float32", (7 + 2 * MOST_PEOPLE,),
        (*BASE_NAMES, *(f"person{n}.{axis}" for n in range(MOST_PEOPLE) for axis in "xy")),
        "m; quaternion; world frame",
    )  # fmt: skip

    def __init__(
        self,
        config: WheelsConfig,
        *,
        width: int,
        threads: int = 1,
        seed: int,
        engine: EngineConfig = EngineConfig(),  # noqa: B008
    ):
        self.config, self.width = config, width
        self.twin = twin = wheel_twin_of(config)
        steps = make_engine(engine, twin.model, width=width, threads=threads)
        self.cell = WheelCell(twin, width=width, engine=steps, fixed=config.scene.fixed)
        self.robot, self.instruction = twin.robot.name, config.scene.task.instruction
        self.rate_hz, self.longest_ticks = float(twin.control_hz), twin.longest_ticks
        motion, rays = ("forward", "turn"), tuple(f"ray{n}" for n in range(twin.rays))
        self.action = Feature("action", "float32", (2,), motion, "m/s; rad/s")
        self.features = (
            Feature("observation.state", "float32", (2,), twin.robot.joints, "rad"),
            Feature("observation.speed", "float32", (2,), motion, "m/s; rad/s"),
            Feature("observation.odometry", "float32", (3,), ("x", "y", "yaw"), "m; rad; from the start"),
            Feature("observation.goal", "float32", (3,), ("distance", "cos", "sin"), "m; by odometry"),
            Feature("observation.lidar", "float32", (twin.rays,), rays, "m"),
            Feature("observation.nearness", "float32", (twin.rays,), rays, "1/m"),
            Feature("observation.last_target", "float32", (2,), motion, "m/s; rad/s"),
        )  # fmt: skip
        self.rest = np.zeros(2)
        fastest, turn = twin.robot.top_speed_m_s, twin.robot.top_turn_rad_s
        self.scale = ActionScale(
            relative=np.zeros(2, bool), centre=np.array([fastest / 2, 0]), span=np.array([fastest / 2, turn]),
            lowest=np.array([0.0, -turn]), highest=np.array([fastest, turn]),
        )  # fmt: skip
        self.defaults = TermDefaults(
            observations=OBSERVATIONS, rewards=dict(REWARDS), terminations=TERMINATIONS, privileged=PRIVILEGED
        )
        self._prepare_draws()
        self.outcome, self.navigator = WheelsOutcome(self.cell), Navigator(self.cell)
        self.blocked = np.zeros(width, bool)
        self._target, self._command, self._has_expert = np.zeros((width, 2)), np.zeros((width, 2)), False
        self.reseed(seed)

    def use_expert(self) -> None:
        self._has_expert = True

    def expert_command(self) -> np.ndarray:
        return self._command

    def _ask_expert(self, ids: np.ndarray | None) -> None:
        """Update the expert in every period, so that an environment that is resumed has the same one."""
        if self._has_expert:
            part = slice(None) if ids is None else ids
            self._command[part] = self.navigator.commands(ids)[part]

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self._sensors = WheelSensors(self.twin, width=self.width, seed=seed)
        self._drive = Drive(self.cell, seed=seed)  # pyright: ignore

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.cell.admit(ids, draws, rows, seed=self._seed)
        self._drive.begin(ids, draws, rows)
        self._sensors.begin(ids, draws, rows, self.cell)
        self.navigator.begin(ids)
        self.outcome.begin(ids, self.navigator.cost_m())
        self.blocked[ids] = [not self.cell.plans[slot].free for slot in ids]  # pyright: ignore
        self._target[ids] = 0
        self._scale_draws(ids, draws, rows)
        self._ask_expert(ids)

    def step(self, ids: np.ndarray | None, command: np.ndarray) -> None:
        part = slice(None) if ids is None else ids
        self._target[part] = command[part]
        with np.errstate(all="ignore"):  # slots with a diverged state, whose results are not used
            self.cell.step(ids, self._drive.carry(self.cell.wheel_speeds_rad_s(command, ids), ids))
            self.outcome.update(ids, self.navigator.cost_m())
            self._ask_expert(ids)

    def observe(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        seen = self._sensors.look(self.cell, ids)
        part = slice(None) if ids is None else ids
        values = {
            "observation.state": seen["wheels"],
            "observation.speed": seen["speed"],
            "observation.odometry": seen["odometry"],
            "observation.goal": seen["goal"],
            "observation.lidar": seen["lidar"],
            # One over the distance: centimetres beside an obstacle matter, and metres away from it do not.
            "observation.nearness": 1 / seen["lidar"],
            "observation.last_target": self._target[part],
        }
        return {name: value.astype(np.float32) for name, value in values.items()}

    def surrounding_poses(self) -> np.ndarray:
        return np.concatenate([self.cell.base_pose(), self.cell.people.position_m.reshape(self.width, -1)], axis=1)

    @property
    def checks(self) -> dict[str, np.ndarray]:
        """Least gap, path length, and error of the odometry."""
        outcome, sensors = self.outcome, self._sensors
        x, y = sensors.odometry[:, 0], sensors.odometry[:, 1]
        cos, sin = np.cos(sensors.start[:, 2]), np.sin(sensors.start[:, 2])
        moved = self.cell.position_m - sensors.start[:, :2]
        error = np.hypot(cos * x - sin * y - moved[:, 0], sin * x + cos * y - moved[:, 1])
        return {"closest_m": outcome.closest_m, "driven_m": outcome.driven_m, "odometry_error_m": error}

    def impossible(self) -> np.ndarray:
        return np.where(self.blocked, NO_PATH, "").astype(object)

    def succeeded(self) -> np.ndarray:
        return self.outcome.arrived

    def diverged(self, tick: np.ndarray) -> np.ndarray:
        return self.cell.diverged(tick * self.twin.control_period_s)

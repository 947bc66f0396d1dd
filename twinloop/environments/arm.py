"""ArmEmbodiment: the cell of a run config, for reinforcement learning: the same twin, rows, sensors and drives.

An environment's episode i of seed s has the draws, physics and sensor values of episode i of a run with that seed. A
policy therefore does in an environment what it does in `twinloop evaluate`.
"""

from dataclasses import replace

import numpy as np

from twinloop.environments.embodiment import ActionScale, Embodiment, TermDefaults
from twinloop.observe.features import CLEAN, features_of
from twinloop.observe.instruction import INSTRUCTION, instruction_feature, instruction_vectors
from twinloop.observe.live_sensors import TRUE, LiveSensors
from twinloop.observe.recording import Feature
from twinloop.randomize.draw import Draws
from twinloop.run.config import RunConfig
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.drive import Drive
from twinloop.simulate.engine import EngineConfig, make_engine, refuse_unsupported
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.simulate.termination import SETTLED_S, fallen
from twinloop.twin.twin import Twin

DEFAULT_OBSERVATIONS = ("observation.state", "observation.velocity", "observation.environment_state")
REWARDS = {"phases_gain": 10.0, "reach": 0.05, "progress": 0.1, "succeeded": 1.0, "fell": -5.0, "action_rate": -0.005}
PRIVILEGED = ("true_state", "tool_offset", "contact", "phase", "time_left", "draw")


class ArmEmbodiment(Embodiment):
    """`width` simulations of a run config's cell.

    Attributes:
        cell: the simulated cell, which terms read.
        settled: (width,) the task has been done for `SETTLED_S`.
        phases, phases_before: (width,) share of completed phases, now and one control period before.
        scaled_draws: (width, varied) drawn values of the current episodes, from 0 to 1.
    """

    kind = "arm"

    def __init__(
        self,
        config: RunConfig,
        *,
        width: int,
        threads: int = 1,
        seed: int,
        engine: EngineConfig = EngineConfig(),  # noqa: B008
    ):
        self.config, self.width = config, width
        self.twin = twin = twin_of(config)
        refuse_unsupported(engine, twin, config.randomization)
        self.cell = Cell(
            twin, width=width, threads=threads, engine=make_engine(engine, twin.model, width=width, threads=threads)
        )
        self.robot, self.instruction = twin.robot.name, twin.instruction
        self.rate_hz, self.longest_ticks = float(twin.control_hz), twin.longest_ticks
        known = {feature.name: feature for feature in features_of(twin, config.observe)}
        self.action = known["action"]
        sensed = LiveSensors(twin, config.observe, width=1, seed=0).features
        measured = tuple(known[name] for name in sensed if name in known)
        true = tuple(replace(feature, name=CLEAN + feature.name) for feature in measured)
        self.features = (*measured, instruction_feature(), *true)
        self._channels = {CLEAN + name: channel for name, channel in sensed.items()}
        self.scale = _scale(twin, self.action, config.environment or EnvironmentConfig())
        instruction = (INSTRUCTION,) if twin.task.roles else ()
        self.defaults = TermDefaults(
            observations=(*DEFAULT_OBSERVATIONS, *instruction), rewards=dict(REWARDS),
            terminations=("success", "fallen"), privileged=PRIVILEGED,
        )  # fmt: skip
        self.varied = config.sampler(seed=0).varied
        self._bounds = _bounds(config, self.varied)
        self._lasting = max(1, round(SETTLED_S * twin.control_hz))
        self._held = np.zeros(width, int)
        self.scaled_draws = np.zeros((width, len(self.varied)), np.float32)
        self.phases, self.phases_before, self.progress_before = np.zeros(width), np.zeros(width), np.zeros(width)
        self._tracker: PhaseTracker | None = None
        self._instructions: np.ndarray | None = None
        self._compares_progress = False
        self._success = self._progress = self._fallen = None
        self._read: tuple[str, ...] = ()
        self._true: tuple[str, ...] = ()
        self.reseed(seed)

    def use(self, features: tuple[str, ...], needs: frozenset[str]) -> None:
        self._read = features
        self._true = tuple(name for name in features if name in self._channels)
        if INSTRUCTION in features:
            self._instructions = np.zeros((self.width, instruction_feature().shape[0]), np.float32)
        self._tracker = PhaseTracker(self.twin, width=self.width) if "phases" in needs else None
        self._compares_progress = "progress_before" in needs
        self.reseed(self._seed)

    def reseed(self, seed: int) -> None:
        self._seed = seed
        self._sampler = self.config.sampler(seed=seed)
        sensed = tuple(name for name in self._read if name != INSTRUCTION and name not in self._channels)
        self._sensors = LiveSensors(self.twin, self.config.observe, width=self.width, seed=seed, features=sensed)
        self._drive = Drive(self.cell, seed=seed)

    def draw(self, first: int, stop: int) -> Draws:
        return self._sampler.draw(first, stop)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.cell.admit(ids, draws, rows)
        self._drive.begin(ids, draws, rows)
        self._sensors.begin(ids, draws, rows)
        self._forget()
        low, span = self._bounds
        for place, column in enumerate(self.varied):
            self.scaled_draws[ids, place] = (draws.values[column][rows] - low[place]) / span[place]
        with np.errstate(all="ignore"):
            self._held[ids] = self.succeeded()[ids]
            if self._compares_progress:
                self.progress_before[ids] = self.progress[ids]
        if self._tracker is not None:
            self._tracker.begin(ids)
        self.phases[ids] = self.phases_before[ids] = 0
        if self._instructions is not None:
            drawn = {column: draws.values[column][rows] for column in self.twin.spoken_columns}
            self._instructions[ids] = instruction_vectors([text for text, _ in self.twin.spoken(drawn)])

    def step(self, ids: np.ndarray | None, command: np.ndarray) -> None:
        joints = self.twin.joints
        with np.errstate(all="ignore"):  # slots with a diverged state, whose results are not used
            if self._compares_progress:
                self.progress_before = self.progress
            self.cell.step(ids, self._drive.carry(command[:, :joints], ids), command[:, joints:])
            self._forget()
            part = slice(None) if ids is None else ids
            self._held[part] = np.where(self.succeeded(), self._held + 1, 0)[part]
            if self._tracker is not None:
                self._tracker.look(self.cell, ids)
                self.phases_before = self.phases
                self.phases = self._tracker.completed / len(self.twin.task.phases)

    def observe(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        with np.errstate(all="ignore"):
            seen = self._sensors.look(self.cell, ids)
            for name in self._true:
                values = TRUE[self._channels[name]](self.cell).astype(np.float32)
                seen[name] = values if ids is None else values[ids]
        if self._instructions is not None:
            seen[INSTRUCTION] = self._instructions if ids is None else self._instructions[ids]
        return seen

    def _forget(self) -> None:
        self._success = self._progress = self._fallen = None

    def succeeded(self) -> np.ndarray:
        if self._success is None:
            self._success = self.twin.task.succeeded(self.cell)
        return self._success

    @property
    def progress(self) -> np.ndarray:
        """(width,) progress of the task's relations, from 0 to 1."""
        if self._progress is None:
            self._progress = self.twin.task.progress(self.cell)
        return self._progress

    @property
    def fallen(self) -> np.ndarray:
        """(width,) whether a thing has fallen off the table."""
        if self._fallen is None:
            self._fallen = fallen(self.cell, self.twin)
        return self._fallen

    @property
    def settled(self) -> np.ndarray:
        # One period more, because the first one is where the success begins.
        return self._held > self._lasting

    def diverged(self, tick: np.ndarray) -> np.ndarray:
        return self.cell.diverged(tick * self.twin.control_period_s)

    @property
    def true_names(self) -> tuple[str, ...]:
        return (*self.twin.robot.state_names, *self.twin.environment_names)

    def true_state(self) -> np.ndarray:
        cell = self.cell
        return np.column_stack([cell.arm_position_rad, cell.opening, cell.environment()])


def _scale(twin: Twin, action: Feature, config: EnvironmentConfig) -> ActionScale:
    """Joints are steps or positions; grippers are always positions from closed to open."""
    openings = [sorted((arm.gripper.closed, arm.gripper.open)) for arm in twin.robot.arms]
    lowest, highest = np.vstack([twin.arm_limits_rad, *openings]).T
    centre, span = (lowest + highest) / 2, (highest - lowest) / 2
    relative = np.zeros(action.shape[0], bool)
    if config.actions == "delta":
        relative[: twin.joints] = True
        centre[: twin.joints], span[: twin.joints] = 0, config.action_scale
    return ActionScale(relative, centre, span, lowest, highest)


def _bounds(config: RunConfig, varied: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(lowest, width) of the range of each varied column."""
    ends = []
    for column in varied:
        row, _, part = column.partition(".")
        own = config.randomization.get(f"{row}.{part.partition('.')[0]}") or config.randomization.get(row)
        ends.append(own.support() if own is not None else (0.0, 1.0))
    low, high = np.array(ends, float).reshape(-1, 2).T
    # A normal distribution has no ends; its values stay in their own unit.
    finite = np.isfinite(low) & np.isfinite(high) & (high > low)
    return np.where(finite, low, 0.0), np.where(finite, high - low, 1.0)

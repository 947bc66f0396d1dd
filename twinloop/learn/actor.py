"""PolicyActor: moves the robot of every simulation slot with the action chunks of one policy.

Inference runs for the slots whose chunk is used up, in batches of a fixed size padded with zeros. Linear algebra may
sum in another order for another number of rows; with a fixed size an episode does not depend on the other slots.
"""

import numpy as np

from twinloop.learn.chunks import ActingConfig, Chunks
from twinloop.learn.runtime import PolicyRuntime
from twinloop.observe.estimate import ESTIMATE, StateEstimator
from twinloop.observe.history import HISTORY, History
from twinloop.observe.instruction import INSTRUCTION
from twinloop.observe.live_cameras import LiveCameras
from twinloop.observe.live_sensors import LiveSensors
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.simulate.termination import TerminationRule
from twinloop.twin.twin import Twin

BATCH = 16
"""Observations in one inference. With 256 slots and chunks of 8 actions, 32 slots are due per control period."""
IMAGE_BATCH = 4
"""Observations in one inference of a policy that sees. Each costs milliseconds, also those that only pad a batch: of 32
slots and chunks of 8 actions, 4 slots are due per control period."""


class PolicyActor:
    def __init__(
        self,
        twin: Twin,
        runtime: PolicyRuntime,
        watch: LiveSensors,
        config: ActingConfig,
        *,
        width: int,
        seed: int,
        eyes: LiveCameras | None = None,
    ):
        self.twin, self.runtime, self.watch, self.eyes, self.seed = twin, runtime, watch, eyes, seed
        self._ending, self._progress = TerminationRule(twin, width=width), PhaseTracker(twin, width=width)
        openings = [sorted((arm.gripper.closed, arm.gripper.open)) for arm in twin.robot.arms]
        self._lowest, self._highest = np.vstack([twin.arm_limits_rad, *openings]).T
        self._home = np.array(twin.robot.home)
        self._running = np.zeros(width, bool)
        self._chunks = Chunks(
            config, width=width, horizon=runtime.horizon, executed=runtime.executed, actions=len(self._home)
        )
        self._command = np.tile(self._home, (width, 1))
        self._estimate = StateEstimator(twin, width=width) if runtime.space.estimates else None
        remembered, rate_hz = runtime.space.remembered, runtime.space.rate_hz
        self._history = History(remembered, width=width, rate_hz=rate_hz) if remembered else None
        self._read = [feature.name for feature in runtime.space.vectors if feature.name != INSTRUCTION]
        self._generators: list[np.random.Generator | None] = [None] * width
        self._retries = np.zeros(width, int)
        self._batch = BATCH if eyes is None else IMAGE_BATCH
        self._instructions = [twin.instruction] * width

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.watch.begin(ids, draws, rows)
        if self.eyes is not None:
            self.eyes.begin(ids, draws, rows)
        if self._estimate is not None:
            self._estimate.begin(ids)
        if self._history is not None:
            self._history.begin(ids)
        self._ending.begin(ids)
        self._progress.begin(ids)
        self._running[ids] = True
        self._chunks.begin(ids)
        self._command[ids] = self._home
        drawn = {column: draws.values[column][rows] for column in self.twin.spoken_columns}
        for slot, (instruction, _) in zip(ids, self.twin.spoken(drawn), strict=True):
            self._instructions[slot] = instruction
        for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
            self._generators[slot] = episode_rng(self.seed, int(attempt), stream="policy")

    def act(self, cell: Cell) -> SlotActions:
        seen = self.watch.look(cell)
        if self._estimate is not None:
            self._estimate.take(seen, self._command)
            seen[ESTIMATE] = self._estimate.vector()
        if self._history is not None:
            seen[HISTORY] = self._history.take(seen)
        if self.eyes is not None:
            self.eyes.note(cell)
        over, lost = self._ending.look(cell)
        self._progress.look(cell)
        self._running &= ~over
        due = self._chunks.due(self._running)
        for first in range(0, len(due), BATCH):
            self._ask(due[first : first + BATCH], seen)
        # Without a finite action, the last command holds.
        wanted = self._chunks.advance(self._running, self._command)
        self._command = np.clip(wanted, self._lowest, self._highest)
        arm_rad, opening = self._command[:, : self.twin.joints], self._command[:, self.twin.joints :]
        return SlotActions(
            arm_rad=arm_rad.copy(),
            opening=opening.copy(),
            command_rad=arm_rad.copy(),
            command_opening=opening.copy(),
            phase=self._progress.phase,
            over=over,
            lost=lost,
            retries=self._retries,
        )

    def _instructions_of(self, ids: np.ndarray) -> list[str]:
        """Instructions of these slots, as many as a batch has rows."""
        instructions = [self._instructions[slot] for slot in ids]
        return instructions + instructions[-1:] * (self._batch - len(instructions))

    def _ask(self, ids: np.ndarray, seen: dict[str, np.ndarray]) -> None:
        """Compute new chunks for these slots, at most BATCH."""
        # Images are rendered only for slots that need a new chunk, and for all of these together.
        pictures = {} if self.eyes is None else self.eyes.look(ids)
        for first in range(0, len(ids), self._batch):
            rows = slice(first, first + self._batch)
            self._infer(ids[rows], seen, {name: values[rows] for name, values in pictures.items()})

    def _infer(self, ids: np.ndarray, seen: dict[str, np.ndarray], pictures: dict[str, np.ndarray]) -> None:
        """Compute new chunks for these slots in one inference."""
        noise = np.zeros((self._batch, *self._chunks.shape), np.float32)
        for place, slot in enumerate(ids):
            generator = self._generators[slot]
            assert generator is not None
            generator.standard_normal(out=noise[place], dtype=np.float32)
        observation = {name: _padded(seen[name][ids], self._batch) for name in self._read}
        observation |= {name: _padded(values, self._batch) for name, values in pictures.items()}
        chunks = self.runtime.chunks(
            observation, instructions=self._instructions_of(ids), real=False, noise=noise
        )[: len(ids)]  # fmt: skip
        self._chunks.add(ids, chunks)


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    """Pad with zeros to `count` rows."""
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    out[: len(values)] = values
    return out

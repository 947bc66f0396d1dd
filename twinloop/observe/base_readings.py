"""Sensor errors of robots with a free base: those of one episode, and those of all slots of a cell.

The errors of an episode are drawn before it begins, so they depend on its seed and index only.
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np

from twinloop.errors import UsageError
from twinloop.observe.sensor_errors import HOOKS
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.randomize.hooks import OFFSET_UNITS, Channel, Signal
from twinloop.randomize.parameter import Morphology
from twinloop.randomize.table import ROBOTS
from twinloop.twin.legs.walk_twin import WalkTwin
from twinloop.twin.wheels.wheel_twin import WheelTwin

NOISE_FRAMES = 1 << 14
"""Length of the table of random numbers. An episode reads it from a random place on."""
MAX_AGE = 8
"""Frames that a reading may be old."""


class NoiseOf(Protocol):
    """(generator of the episode, its part of the table of random numbers) -> random numbers of the built-in rows."""

    def __call__(self, rng: np.random.Generator, part: np.ndarray) -> dict[str, np.ndarray]: ...


class BaseReadings:
    """The `Readings` of one episode, to which rows add errors. Channels without a sensor here are ignored.

    Args:
        channels: channel -> number of its elements.
        noise_of: see `NoiseOf`.
        table: (NOISE_FRAMES, columns) random numbers of the run.
    """

    def __init__(
        self, twin: WalkTwin | WheelTwin, attempt: int, *, seed: int, robots: Morphology, channels: Mapping[str, int],
        noise_of: NoiseOf, table: np.ndarray,
    ):  # fmt: skip
        self.twin, self.frames = twin, twin.longest_ticks + 1
        self._robots: Morphology = robots
        self._seed, self._attempt = seed, attempt
        rng = episode_rng(seed, attempt, stream="sensors")
        first = int(rng.integers(NOISE_FRAMES - self.frames))
        self.noise: Mapping[str, np.ndarray] = noise_of(rng, table[first : first + self.frames])
        self.offsets = {name: np.zeros((self.frames, count), np.float32) for name, count in channels.items()}
        self.gains: dict[str, np.ndarray] = {}
        self.dead: dict[str, np.ndarray] = {}
        self.step_rad, self._delay_ms = 0.0, 0.0
        self._lost = np.zeros(self.frames, bool)

    @property
    def seconds(self) -> np.ndarray:
        return np.arange(self.frames)[:, None] * self.twin.control_period_s

    def rng(self, stream: str) -> np.random.Generator:
        return episode_rng(self._seed, self._attempt, stream=f"sensors/{stream}")

    def delay_ms(self, signal: Signal, delay_ms: float) -> None:
        if signal == "observed":
            self._delay_ms += delay_ms

    def lose(self, signal: Signal, lost: np.ndarray) -> None:
        if signal == "observed":
            self._lost |= lost

    def add(self, channel: Channel, offset: np.ndarray, elements: slice = slice(None)) -> None:
        if channel in self.offsets:
            self.offsets[channel][:, elements] += offset * OFFSET_UNITS.get(channel, 1.0)

    def multiply(self, channel: Channel, gain: np.ndarray) -> None:
        self._refuse_unknown("multiplies", channel)
        self.gains[channel] = gain * self.gains.get(channel, 1.0)

    def silence(self, channel: Channel, dead: np.ndarray) -> None:
        self._refuse_unknown("silences", channel)
        self.dead[channel] = dead | self.dead.get(channel, False)

    def threshold(self, channel: Channel, least: float) -> None:  # noqa: ARG002
        raise self._unsupported("cuts off", channel)

    def round(self, channel: Channel, step: float) -> None:
        if channel == "position":
            self.step_rad = step

    def _refuse_unknown(self, verb: str, channel: Channel) -> None:
        if channel not in self.offsets:
            raise self._unsupported(verb, channel)

    def _unsupported(self, verb: str, channel: Channel) -> UsageError:
        return UsageError(
            f"a row of randomization.sensing {verb} {channel}, which {ROBOTS[self._robots]} do not have; remove it"
        )

    def age(self) -> np.ndarray:
        """(frames,) how old each frame is, in frames."""
        frames = np.arange(self.frames)
        when = np.maximum(frames - self._delay_ms / 1000 / self.twin.control_period_s, 0)
        if self._lost.any():
            seen = np.where(self._lost & (frames > 0), 0, frames)
            when = when[np.maximum.accumulate(seen)]
        return np.minimum(frames - when, MAX_AGE - 1)


class SlotErrors:
    """The sensor errors of the present episodes of all slots.

    Args:
        columns: random numbers that an episode needs in each frame.
    """

    def __init__(
        self, twin: WalkTwin | WheelTwin, *, width: int, seed: int, robots: Morphology, channels: Mapping[str, int],
        noise_of: NoiseOf, columns: int,
    ):  # fmt: skip
        self.twin, self.width, self.seed = twin, width, seed
        self._robots: Morphology = robots
        self._channels, self._noise_of = channels, noise_of
        self._table = np.random.default_rng([seed, 1]).standard_normal((NOISE_FRAMES, columns), np.float32)
        self._frames = twin.longest_ticks + 1
        self._offsets: dict[str, np.ndarray] = {}
        self._gains: dict[str, np.ndarray] = {}
        self._dead: dict[str, np.ndarray] = {}
        self._step = np.zeros((width, 1))
        self._age: np.ndarray | None = None
        self._past: np.ndarray | None = None

    @property
    def active(self) -> bool:
        """Whether any episode so far had errors."""
        return bool(self._offsets)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Draw the errors of the episodes that begin."""
        hooks = [(row, act) for row, act in HOOKS if self._robots in row.robots and row.columns[0] in draws.varied]
        if not hooks:
            return
        # One episode at a time: each has its own generator, independent of its slot.
        for slot, row in zip(ids, rows, strict=True):
            readings = BaseReadings(
                self.twin, int(draws.attempts[row]), seed=self.seed, robots=self._robots, channels=self._channels,
                noise_of=self._noise_of, table=self._table,
            )  # fmt: skip
            for parameter, on_reading in hooks:
                values = [draws.values[column][row] for column in (*parameter.columns, *parameter.beside)]
                on_reading(cast(Any, readings), np.array(values if len(values) > 1 else values[0]))
            self._keep(int(slot), readings)

    def _keep(self, slot: int, readings: BaseReadings) -> None:
        for kind, kept, neutral in (
            (readings.offsets, self._offsets, 0.0), (readings.gains, self._gains, 1.0), (readings.dead, self._dead, 0)
        ):  # fmt: skip
            for channel in kind.keys() | kept.keys():
                if channel not in kept:
                    shape = (self.width, self._frames, self._channels[channel])
                    kept[channel] = np.full(shape, neutral, bool if kept is self._dead else np.float32)
                kept[channel][slot] = kind.get(channel, neutral)
        self._step[slot] = readings.step_rad
        age = readings.age()
        if self._age is None and age.any():
            self._age = np.zeros((self.width, readings.frames), np.float32)
        if self._age is not None:
            self._age[slot] = age

    def offset(self, channel: str, slots: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """(slots, elements) offset that is added to the readings of a channel."""
        return self._offsets[channel][slots, tick]

    def read(self, channel: str, values: np.ndarray, slots: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """Values with the gains and offsets of a channel."""
        if channel in self._gains:
            values = values * self._gains[channel][slots, tick]
        return values + self._offsets[channel][slots, tick] if self.active else values

    def dead(self, channel: str, slots: np.ndarray, tick: np.ndarray) -> np.ndarray | None:
        """(slots, elements) elements without a reading; None if all have one."""
        return self._dead[channel][slots, tick] if channel in self._dead else None

    def rounded(self, values: np.ndarray, slots: np.ndarray) -> np.ndarray:
        step = self._step[slots]
        return np.where(step > 0, np.round(values / np.maximum(step, 1e-9)) * step, values)

    def delayed(self, true: np.ndarray, slots: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """(slots, elements) sensor values delayed by the delays of the episodes."""
        if self._age is None:
            return true
        if self._past is None:
            self._past = np.zeros((self.width, MAX_AGE + 1, true.shape[1]), np.float32)
        first = tick == 0
        self._past[slots[first]] = true[first, None]
        self._past[slots, tick % (MAX_AGE + 1)] = true
        age = self._age[slots, tick]
        whole = np.floor(age).astype(int)
        share = (age - whole)[:, None]
        newer = self._past[slots, (tick - whole) % (MAX_AGE + 1)]
        older = self._past[slots, (tick - whole - 1) % (MAX_AGE + 1)]
        return (1 - share) * newer + share * older

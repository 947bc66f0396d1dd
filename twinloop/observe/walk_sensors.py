"""WalkSensors: current sensor values of legged robots, with the errors of their episodes.

Sensors are joint encoders and an IMU in the base. The errors of an episode are drawn before it begins, so they depend
on its seed and index only.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from twinloop.errors import UsageError
from twinloop.observe.sensor_errors import HOOKS
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.randomize.hooks import OFFSET_UNITS, Channel, Signal
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.walk_twin import WalkTwin

NOISE_FRAMES = 1 << 14
"""Length of the table of random numbers. An episode reads it from a random place on."""
MAX_AGE = 8
"""Frames that a reading may be old."""


class BaseReadings:
    """The `Readings` of one episode, to which rows add errors. Channels without a sensor here are ignored."""

    def __init__(self, twin: WalkTwin, attempt: int, *, seed: int, noise: np.ndarray):
        self.twin, self.frames = twin, twin.longest_ticks + 1
        self._seed, self._attempt = seed, attempt
        rng, joints = episode_rng(seed, attempt, stream="sensors"), twin.joints
        first = int(rng.integers(NOISE_FRAMES - self.frames))
        part = noise[first : first + self.frames]
        self.noise: Mapping[str, np.ndarray] = {
            "encoder": part[:, :joints],
            "inertial": part[:, joints : joints + 6],
            "inertial_walk": part[:, joints + 6 : joints + 12],
            "encoder_bias": rng.uniform(-1, 1, joints),
            "observed": rng.random(self.frames),
        }
        self.offsets = {
            "position": np.zeros((self.frames, joints), np.float32),
            "velocity": np.zeros((self.frames, joints), np.float32),
            "inertial": np.zeros((self.frames, 6), np.float32),
            "attitude": np.zeros((self.frames, 3), np.float32),
        }
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

    def multiply(self, channel: Channel, gain: np.ndarray) -> None:  # noqa: ARG002
        raise self._unsupported("multiplies", channel)

    def threshold(self, channel: Channel, least: float) -> None:  # noqa: ARG002
        raise self._unsupported("cuts off", channel)

    def silence(self, channel: Channel, dead: np.ndarray) -> None:  # noqa: ARG002
        raise self._unsupported("silences", channel)

    def _unsupported(self, verb: str, channel: Channel) -> UsageError:
        return UsageError(
            f"a row of randomization.sensing {verb} {channel}, which legged robots do not have; remove it"
        )

    def round(self, channel: Channel, step: float) -> None:
        if channel == "position":
            self.step_rad = step

    def age(self) -> np.ndarray:
        """(frames,) how old each frame is, in frames."""
        frames = np.arange(self.frames)
        when = np.maximum(frames - self._delay_ms / 1000 / self.twin.control_period_s, 0)
        if self._lost.any():
            seen = np.where(self._lost & (frames > 0), 0, frames)
            when = when[np.maximum.accumulate(seen)]
        return np.minimum(frames - when, MAX_AGE - 1)


class WalkSensors:
    """Live sensor values of all slots of a cell: joint positions and velocities, turn rate and gravity of the base."""

    def __init__(self, twin: WalkTwin, *, width: int, seed: int):
        self.twin, self.width, self.seed = twin, width, seed
        columns = twin.joints + 12
        self._noise = np.random.default_rng([seed, 1]).standard_normal((NOISE_FRAMES, columns), np.float32)
        self._slots, self._tick = np.arange(width), np.zeros(width, int)
        self._plain = True
        self._errors: dict[str, np.ndarray] = {}
        self._step = np.zeros((width, 1))
        self._age: np.ndarray | None = None
        self._past: np.ndarray | None = None

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Draw the errors of the episodes that begin."""
        self._tick[ids] = 0
        hooks = [(row, act) for row, act in HOOKS if "legs" in row.robots and row.columns[0] in draws.varied]
        if not hooks:
            return
        # One episode at a time: each has its own generator, independent of its slot.
        for slot, row in zip(ids, rows, strict=True):
            readings = BaseReadings(self.twin, int(draws.attempts[row]), seed=self.seed, noise=self._noise)
            for parameter, on_reading in hooks:
                values = [draws.values[column][row] for column in (*parameter.columns, *parameter.beside)]
                on_reading(cast(Any, readings), np.array(values if len(values) > 1 else values[0]))
            self._keep(int(slot), readings)

    def _keep(self, slot: int, readings: BaseReadings) -> None:
        if self._plain:
            self._plain = False
            for channel, offsets in readings.offsets.items():
                self._errors[channel] = np.zeros((self.width, *offsets.shape), np.float32)
        for channel, offsets in readings.offsets.items():
            self._errors[channel][slot] = offsets
        self._step[slot] = readings.step_rad
        age = readings.age()
        if self._age is None and age.any():
            self._age = np.zeros((self.width, readings.frames), np.float32)
        if self._age is not None:
            self._age[slot] = age

    def look(self, cell: WalkCell, ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Channel -> (slots, elements) of this control period. Call once in each period of a slot.

        Channels are position, velocity, gyro and gravity.
        """
        slots = self._slots if ids is None else ids
        part = slice(None) if ids is None else ids
        joints, tick = self.twin.joints, np.minimum(self._tick[slots], self.twin.longest_ticks)
        true = np.concatenate(
            [cell.arm_position_rad[part], cell.arm_velocity_rad_s[part], cell.turn_rad_s[part], cell.gravity[part]],
            axis=1, dtype=np.float32,
        )  # fmt: skip
        true = self._delayed(true, slots, tick)
        position, velocity = true[:, :joints], true[:, joints : 2 * joints]
        gyro, gravity = true[:, 2 * joints : 2 * joints + 3], true[:, 2 * joints + 3 :]
        self._tick[slots] += 1
        if not self._plain:
            position = position + self._errors["position"][slots, tick]
            step = self._step[slots]
            position = np.where(step > 0, np.round(position / np.maximum(step, 1e-9)) * step, position)
            velocity = velocity + self._errors["velocity"][slots, tick]
            gyro = gyro + self._errors["inertial"][slots, tick, 3:]
            gravity = gravity + np.cross(gravity, self._errors["attitude"][slots, tick])  # a small rotation
        return {"position": position, "velocity": velocity, "gyro": gyro, "gravity": gravity}

    def _delayed(self, true: np.ndarray, slots: np.ndarray, tick: np.ndarray) -> np.ndarray:
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

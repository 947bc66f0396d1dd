"""Errors of an episode's sensors, drawn before the episode begins.

They are drawn for the longest possible episode. So the length of an episode does not change its sensor values, and a
policy can be given, frame by frame, exactly the values that will be recorded.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.randomize.hooks import OFFSET_UNITS, Channel, OnReading, Signal
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.servo import PREFIX
from twinloop.randomize.table import TABLE
from twinloop.twin.touch import PARTS as TOUCHED
from twinloop.twin.twin import Twin

HOOKS: tuple[tuple[Parameter, OnReading], ...] = tuple(
    (row, row.on_reading) for row in TABLE if row.on_reading is not None
)
"""The rows that act on readings."""
ENCODER_BIAS = "encoder_bias_rad"
SERVO_BIAS = PREFIX + ENCODER_BIAS
NEUTRAL = {"gain": 1.0, "alive": 1.0, "threshold": 0.0, "step": 0.0, "offset": 0.0}
"""Kind of error -> the value without effect."""

OF_HAND = ("wrench", "inertial", "touch")
"""Channels of sensors that every hand has."""


def errors_of(twin: Twin, draws: Draws, row: int, *, seed: int) -> dict[str, np.ndarray]:
    """Name -> (longest_ticks, ...) of one episode.

    - observed, tracked: the time that each frame shows, in frames.
    - CHANNEL/offset, /gain, /threshold, /step, /alive: of every reading of a channel, in SI units. A missing one has
      no effect.
    """
    errors, *others = (_errors_of_arm(twin, draws, row, index.number, seed=seed) for index in twin.arms)
    for other in others:
        # Hands have sensors of their own; all other sensors are those of the whole robot.
        errors |= {
            name: np.concatenate([errors[name], values], axis=1)
            for name, values in other.items()
            if name.partition("/")[0] in OF_HAND
        }
    return errors


def _errors_of_arm(twin: Twin, draws: Draws, row: int, arm: int, *, seed: int) -> dict[str, np.ndarray]:
    episode = EpisodeErrors(twin, int(draws.attempts[row]), seed=seed, arm=arm)
    absent = {"wrist"} if not twin.has_wrist_sensors else set()
    absent |= {"touch"} if not twin.has_touch else set()
    varied = {column.partition(".")[0] for column in draws.varied}
    for parameter, on_reading in HOOKS:
        if parameter.name not in varied or not absent.isdisjoint(parameter.only_with):
            continue
        if parameter.of_joint:
            on_reading(episode, _of_joints(parameter.name, parameter.nominal, twin, draws, row))
            continue
        values = [draws.values[column][row] for column in (*parameter.columns, *parameter.beside)]
        on_reading(episode, np.array(values if len(values) > 1 else values[0]))
    if has_servo_bias(twin, draws):
        episode.add("position", _servo_bias_rad(twin, draws, row) / OFFSET_UNITS["position"])
    return episode.errors()


def has_servo_bias(twin: Twin, draws: Draws) -> bool:
    """Whether the encoders of the servos read too high or too low."""
    if twin.drive is None:
        return False
    varied = any(column.partition(".")[0] == SERVO_BIAS for column in draws.varied)
    return varied or any(twin.drive.joints[joint][ENCODER_BIAS] for joint in twin.robot.arm_joints)


def _servo_bias_rad(twin: Twin, draws: Draws, row: int) -> np.ndarray:
    """(joints,) how far the encoders of the arm's servos read too high."""
    assert twin.drive is not None
    nominal = [twin.drive.joints[joint][ENCODER_BIAS] for joint in twin.robot.arm_joints]
    return _of_joints(SERVO_BIAS, nominal, twin, draws, row)


def _of_joints(name: str, nominal: float | Sequence[float], twin: Twin, draws: Draws, row: int) -> np.ndarray:
    """(joints,) values of a row in an episode: of the joint, of all joints, or nominal."""
    values = np.broadcast_to(np.array(nominal, float), len(twin.robot.arm_joints)).copy()
    for place, joint in enumerate(twin.robot.arm_joints):
        for column in (name, f"{name}.{joint}"):
            if column in draws.varied:
                values[place] = draws.values[column][row]
    return values


class EpisodeErrors:
    """The `Readings` of one episode, to which rows add errors.

    Args:
        arm: the arm whose hand the sensors in `OF_HAND` are on.
    """

    def __init__(self, twin: Twin, attempt: int, *, seed: int, arm: int = 0):
        self.twin, self.frames = twin, twin.longest_ticks
        self._seed, self._attempt = seed, attempt
        self._suffix = f"/{twin.arms[arm].name}" if arm else ""
        self.noise: Mapping[str, np.ndarray] = self._random_numbers()
        self._delay_ms: dict[Signal, float] = {"observed": 0.0, "tracked": 0.0}
        self._lost: dict[Signal, np.ndarray] = {}
        self._errors: dict[str, np.ndarray] = {
            f"{channel}/offset": np.zeros((self.frames, elements)) for channel, elements in self._channels().items()
        }

    def _channels(self) -> dict[Channel, int]:
        """Channels of this twin whose readings may have an offset -> their elements."""
        joints, things = len(self.twin.arm_joints), len(self.twin.things)
        channels: dict[Channel, int] = {
            "position": joints, "effort": joints, "tracker": 3 * things, "tracker_turn": 3 * things
        }  # fmt: skip
        if self.twin.has_wrist_sensors:
            channels |= {"wrench": 6, "inertial": 6}
        if self.twin.has_touch:
            channels["touch"] = len(TOUCHED)
        return channels

    def _random_numbers(self) -> dict[str, np.ndarray]:
        """All numbers are drawn in a fixed order, used or not, so that one row does not change the noise of others."""
        frames, joints = self.frames, len(self.twin.arm_joints)
        rng = episode_rng(self._seed, self._attempt, stream=f"sensors{self._suffix}")
        noise = {
            "observed": rng.random(frames),
            "encoder_bias": rng.uniform(-1, 1, joints),
            "encoder": rng.standard_normal((frames, joints)),
            "effort": rng.standard_normal((frames, joints)),
            "outage": rng.random(frames),
            "tracker": rng.standard_normal((frames, 3)),
            "tracker_turn": rng.standard_normal((frames, 3)),
        }
        if self.twin.has_wrist_sensors:
            noise["wrench_drift"] = rng.standard_normal((2, 3))
            for name in ("wrench", "inertial", "inertial_walk"):
                noise[name] = rng.standard_normal((frames, 6))
        if self.twin.has_touch:
            # Touch has its own random stream, so that the other sensors' values do not depend on it.
            rng, taxels = episode_rng(self._seed, self._attempt, stream=f"touch{self._suffix}"), len(TOUCHED)
            noise["touch_gain"] = rng.standard_normal(taxels)
            noise["touch_drift"] = rng.standard_normal((2, taxels))
            noise["touch_chance"] = rng.random(taxels)
            noise["touch"] = rng.standard_normal((frames, taxels))
        others = len(self.twin.things) - 1
        if others:
            # So do the poses of all things but the first.
            rng = episode_rng(self._seed, self._attempt, stream="trackers")
            for name in ("tracker", "tracker_turn"):
                noise[name] = np.concatenate([noise[name], rng.standard_normal((frames, 3 * others))], axis=1)
        return noise

    @property
    def seconds(self) -> np.ndarray:
        return np.arange(self.frames)[:, None] * self.twin.control_period_s

    def rng(self, stream: str) -> np.random.Generator:
        return episode_rng(self._seed, self._attempt, stream=f"sensors/{stream}{self._suffix}")

    def delay_ms(self, signal: Signal, delay_ms: float) -> None:
        self._delay_ms[signal] += delay_ms

    def lose(self, signal: Signal, lost: np.ndarray) -> None:
        self._lost[signal] = self._lost.get(signal, False) | lost

    def add(self, channel: Channel, offset: np.ndarray, elements: slice = slice(None)) -> None:
        # A twin without the sensor has no such channel. Velocities have one only if a row asks for it.
        if channel == "velocity":
            self._errors.setdefault("velocity/offset", np.zeros((self.frames, len(self.twin.arm_joints))))
        if f"{channel}/offset" in self._errors:
            self._errors[f"{channel}/offset"][:, elements] += offset

    def multiply(self, channel: Channel, gain: np.ndarray) -> None:
        self._set(channel, "gain", gain * self._errors.get(f"{channel}/gain", 1.0))

    def threshold(self, channel: Channel, least: float) -> None:
        self._set(channel, "threshold", np.maximum(least, self._errors.get(f"{channel}/threshold", 0.0)))

    def round(self, channel: Channel, step: float) -> None:
        self._set(channel, "step", np.maximum(step, self._errors.get(f"{channel}/step", 0.0)))

    def silence(self, channel: Channel, dead: np.ndarray) -> None:
        self._set(channel, "alive", ~dead * self._errors.get(f"{channel}/alive", 1.0))

    def _set(self, channel: Channel, kind: str, values: np.ndarray) -> None:
        """Store values that broadcast to (frames, elements)."""
        elements = self._channels().get(channel, len(self.twin.arm_joints) if channel == "velocity" else 0)
        if elements:
            self._errors[f"{channel}/{kind}"] = np.broadcast_to(values, (self.frames, elements))

    def errors(self) -> dict[str, np.ndarray]:
        errors = dict(self._errors)
        for channel, unit in OFFSET_UNITS.items():
            errors[f"{channel}/offset"] = unit * errors[f"{channel}/offset"]
        return {signal: self._when(signal) for signal in self._delay_ms} | errors

    def _when(self, signal: Signal) -> np.ndarray:
        """(frames,) time that each frame shows, in frames: delayed, and constant while the signal is lost."""
        frames = np.arange(self.frames)
        when = np.maximum(frames - self._delay_ms[signal] / 1000 / self.twin.control_period_s, 0)
        # The first frame is always seen, because there is no earlier one to repeat.
        lost = self._lost.get(signal, np.zeros(self.frames, bool))
        last_seen = np.maximum.accumulate(np.where(lost & (frames > 0), 0, frames))
        return when[last_seen]

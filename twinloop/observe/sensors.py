"""Sensors: what encoders, torque sensors and a pose tracker say of an episode.

The physics is not touched: the same episode can be seen through any sensors. Each signal is first late (it shows
what was there `delay` ago, and while it is lost, what it showed last), then wrong (bias, noise), then rounded to the
sensor's step. A velocity may be the difference of two such positions, as on most servos.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from twinloop.randomize.draw import episode_rng
from twinloop.randomize.sensing import SENSING
from twinloop.randomize.touch import TOUCH
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

OUTAGE_S = 0.2  # a tracker that has lost the object finds it again after about this long

READ = (*(row.name for row in SENSING + TOUCH), "observation_delay_ms", "observation_loss_share")
SEEN = ("position", "velocity", "effort", "environment", "wrench", "inertial", "touch")
DRIFT_S = 10.0


Velocity = Literal["measured", "differentiated"]


@dataclass(frozen=True)
class ObserveConfig:
    """velocity: as the engine has it, or differentiated from sensed positions. wrist: record a force-torque sensor
    and an IMU at the hand. keep_clean: record what was really there beside what the sensors said. touch: record the
    fingers' taxels."""

    velocity: Velocity = "measured"
    wrist: bool = False
    keep_clean: bool = False
    touch: bool = False


def sense(episodes: Episodes, twin: Twin, config: ObserveConfig, *, seed: int) -> dict[str, np.ndarray]:
    """Channel -> what is seen of it, for the channels that sensors stand before."""
    seen = {channel: episodes[channel] for channel in SEEN if channel in episodes.channels}
    if config.velocity == "measured" and not any(name in episodes.draws.varied for name in READ):
        return seen
    seen = {channel: values.astype(float) for channel, values in seen.items()}
    # One episode at a time: each has its own generator and its own length.
    for row, (start, length) in enumerate(zip(episodes.starts, episodes.lengths, strict=True)):
        if length:
            frames = slice(start, start + length)
            drawn = {name: float(episodes.draws.values[name][row]) for name in READ}
            attempt = int(episodes.draws.attempts[row])
            rng = episode_rng(seed, attempt, stream="sensors")
            # Touch has a stream of its own: the other sensors say the same with and without it.
            skin = episode_rng(seed, attempt, stream="touch")
            told = _Sensors(twin, config, drawn, rng, skin).look(
                {name: values[frames] for name, values in seen.items()}
            )
            for channel, values in told.items():
                seen[channel][frames] = values
    return seen


class _Sensors:
    """The sensors of one episode."""

    def __init__(
        self, twin: Twin, config: ObserveConfig, drawn: Mapping[str, float], rng: np.random.Generator,
        skin: np.random.Generator,
    ):  # fmt: skip
        self.period_s = twin.control_period_s
        self.config, self.drawn, self.rng, self.skin = config, drawn, rng, skin

    def look(self, true: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        count = len(true["position"])
        lost = self.rng.random(count) < self.drawn["observation_loss_share"]
        when = self._when(count, self.drawn["observation_delay_ms"], lost)
        position = self._encoders(_at(true["position"], when))
        velocity = _at(true["velocity"], when)
        if self.config.velocity == "differentiated":
            velocity = np.diff(position, axis=0, prepend=position[:1]) / self.period_s
        effort = _at(true["effort"], when)
        effort[:, :-1] += self.drawn["effort_noise_nm"] * self.rng.standard_normal(effort[:, :-1].shape)
        told = {
            "position": position,
            "velocity": velocity,
            "effort": effort,
            "environment": self._tracker(true["environment"]),
        }
        if "wrench" in true:
            told |= {
                "wrench": self._wrench(_at(true["wrench"], when)),
                "inertial": self._imu(_at(true["inertial"], when)),
            }
        if "touch" in true:
            told["touch"] = self._touch(_at(true["touch"], when))
        return told

    def _when(self, count: int, delay_ms: float, lost: np.ndarray) -> np.ndarray:
        """(count,) the moment each frame shows, in frames: late, and standing still while lost."""
        when = np.maximum(np.arange(count) - delay_ms / 1000 / self.period_s, 0)
        # The first frame is always seen, or there would be nothing to show.
        last_seen = np.maximum.accumulate(np.where(lost & (np.arange(count) > 0), 0, np.arange(count)))
        return when[last_seen]

    def _encoders(self, position: np.ndarray) -> np.ndarray:
        """Of the arm; the gripper's opening is told as it is."""
        arm = position[:, :-1]
        bias = self.rng.uniform(-1, 1, arm.shape[1]) * self.drawn["encoder_bias_mrad"]
        noise = self.drawn["encoder_noise_mrad"] * self.rng.standard_normal(arm.shape)
        arm = arm + 1e-3 * (bias + noise)
        step = 1e-3 * self.drawn["encoder_step_mrad"]
        if step > 0:
            arm = step * np.round(arm / step)
        return np.column_stack([arm, position[:, -1]])

    def _tracker(self, environment: np.ndarray) -> np.ndarray:
        """Of the object; the goal is known, not tracked."""
        count = len(environment)
        when = self._when(count, self.drawn["tracker_delay_ms"], self._outages(count))
        seen = environment.copy()
        seen[:, :3] = _at(environment[:, :3], when)
        seen[:, :3] += 1e-3 * self.drawn["tracker_noise_mm"] * self.rng.standard_normal((count, 3))
        turn = np.deg2rad(self.drawn["tracker_turn_noise_deg"]) * self.rng.standard_normal((count, 3))
        # Orientations do not average; the one of the frame before is shown.
        seen[:, 3:7] = _turned(environment[np.floor(when).astype(int), 3:7], turn)
        return seen

    def _wrench(self, wrench: np.ndarray) -> np.ndarray:
        """An offset that was not zeroed, and that wanders as the sensor warms up."""
        count = len(wrench)
        start, slope = self.rng.standard_normal((2, 3))
        seconds = np.arange(count)[:, None] * self.period_s
        offset = self.drawn["force_drift_n"] * (start + slope * seconds / DRIFT_S)
        noise = self.rng.standard_normal((count, 6)) * np.repeat(
            [self.drawn["force_noise_n"], self.drawn["torque_noise_nm"]], 3
        )
        return wrench + noise + np.column_stack([offset, np.zeros((count, 3))])

    def _imu(self, inertial: np.ndarray) -> np.ndarray:
        """Accelerations, then turn rates, each with white noise and a bias that walks."""
        noise = np.repeat([self.drawn["accelerometer_noise_m_s2"], 1e-3 * self.drawn["gyro_noise_mrad_s"]], 3)
        white, steps = self.rng.standard_normal((2, len(inertial), 6))
        walk = self.drawn["imu_walk_per_s"] * np.sqrt(self.period_s) * np.cumsum(steps, axis=0)
        return inertial + noise * (white + walk)

    def _touch(self, touch: np.ndarray) -> np.ndarray:
        """Taxels of uneven gain that drift and are noisy; what is below the threshold is not felt, then rounded."""
        drawn, skin, (count, size) = self.drawn, self.skin, touch.shape
        gain = 1 + drawn["touch_gain_error"] * skin.standard_normal(size)
        start, slope = skin.standard_normal((2, size))
        dead = skin.random(size) < drawn["touch_dead_share"]
        seconds = np.arange(count)[:, None] * self.period_s
        felt = gain * touch + drawn["touch_drift_n"] * (start + slope * seconds / DRIFT_S)
        felt = felt + drawn["touch_noise_n"] * skin.standard_normal((count, size))
        felt = np.where(np.abs(felt) < drawn["touch_threshold_n"], 0, felt)
        if drawn["touch_step_n"] > 0:
            felt = drawn["touch_step_n"] * np.round(felt / drawn["touch_step_n"])
        return np.where(dead, 0, felt)

    def _outages(self, count: int) -> np.ndarray:
        """A tracker loses the object for a while, not for single frames: two states, left at random."""
        share = self.drawn["tracker_loss_share"]
        chance = self.rng.random(count)
        found_again = min(1.0, self.period_s / OUTAGE_S)
        lose = min(1.0, found_again * share / max(1 - share, 1e-9))
        lost = np.zeros(count, bool)
        for frame in range(1, count):
            lost[frame] = chance[frame] > found_again if lost[frame - 1] else chance[frame] < lose
        return lost


def _at(values: np.ndarray, when: np.ndarray) -> np.ndarray:
    """(n, d) values at moments between frames."""
    before = np.floor(when).astype(int)
    after = np.minimum(before + 1, len(values) - 1)
    share = (when - before)[:, None]
    return (1 - share) * values[before] + share * values[after]


def _turned(quaternions: np.ndarray, turn_rad: np.ndarray) -> np.ndarray:
    """Quaternions w, x, y, z after small rotations about x, y, z."""
    w, x, y, z = quaternions.T
    a, b, c = (turn_rad / 2).T
    turned = np.column_stack([
        w - a * x - b * y - c * z,
        x + a * w + b * z - c * y,
        y + b * w + c * x - a * z,
        z + c * w + a * y - b * x,
    ])  # fmt: skip
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)

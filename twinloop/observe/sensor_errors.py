"""Errors of an episode's sensors, drawn before the episode begins.

They are drawn for the longest possible episode. So the length of an episode does not change its sensor values, and a
policy can be given, frame by frame, exactly the values that will be recorded.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.randomize.draw import Draws, episode_rng
from twinloop.randomize.sensing import SENSING
from twinloop.randomize.touch import TOUCH
from twinloop.twin.touch import PARTS as TOUCHED
from twinloop.twin.twin import Twin

OUTAGE_S = 0.2  # a tracker that has lost the object finds it again after about this long
DRIFT_S = 10.0

BIAS = ("tracker_bias_mm.x", "tracker_bias_mm.y")
READ = (*(row.name for row in SENSING + TOUCH), *BIAS, "observation_delay_ms", "observation_loss_share")


def errors_of(twin: Twin, draws: Draws, row: int, *, seed: int) -> dict[str, np.ndarray]:
    """Name -> (longest_ticks, ...) of one episode.

    - observed, tracked: the time that each frame shows, in frames.
    - encoder_step: radians.
    - position (of the arm), effort (of the arm), tracker (metres), tracker_turn (radians), wrench, inertial, touch:
      errors that are added.
    - touch_gain, touch_alive: of every taxel. touch_threshold, touch_step: newtons.
    """
    drawn = {name: float(draws.values[name][row]) for name in READ}
    attempt = int(draws.attempts[row])
    errors = _Draw(twin, drawn, episode_rng(seed, attempt, stream="sensors")).errors()
    if twin.touch is not None:
        # Touch has its own random stream, so that the other sensors' values do not depend on it.
        errors |= _Draw(twin, drawn, episode_rng(seed, attempt, stream="touch")).touch_errors(len(TOUCHED))
    if len(twin.things) > 1:
        # So do the poses of all things but the first.
        others = _Draw(twin, drawn, episode_rng(seed, attempt, stream="trackers")).tracker_errors(len(twin.things) - 1)
        errors |= {name: np.concatenate([errors[name], values], axis=1) for name, values in others.items()}
    return errors


class _Draw:
    def __init__(self, twin: Twin, drawn: Mapping[str, float], rng: np.random.Generator):
        self.twin, self.drawn, self.rng = twin, drawn, rng
        self.frames, self.joints = twin.longest_ticks, len(twin.arm_joints)

    def errors(self) -> dict[str, np.ndarray]:
        """All errors are drawn in a fixed order, used or not, so that one row does not change the noise of others."""
        drawn, frames = self.drawn, self.frames
        lost = self.rng.random(frames) < drawn["observation_loss_share"]
        found = {
            "observed": self._when(drawn["observation_delay_ms"], lost),
            "encoder_step": np.full(frames, 1e-3 * drawn["encoder_step_mrad"]),
            "position": self._encoders(),
            "effort": drawn["effort_noise_nm"] * self._white(self.joints),
            "tracked": self._when(drawn["tracker_delay_ms"], self._outages()),
            **self.tracker_errors(1),
        }
        if self.twin.has_wrist_sensors:
            found |= {"wrench": self._wrench(), "inertial": self._imu()}
        return found

    def tracker_errors(self, things: int) -> dict[str, np.ndarray]:
        """Noise of each thing's pose; the bias of the tracker's frame is that of all things."""
        noise_mm = self.drawn["tracker_noise_mm"] * self._white(3 * things)
        return {
            "tracker": 1e-3 * (noise_mm + np.tile(self._tracker_bias_mm(), things)),
            "tracker_turn": np.deg2rad(self.drawn["tracker_turn_noise_deg"]) * self._white(3 * things),
        }

    def _white(self, elements: int) -> np.ndarray:
        return self.rng.standard_normal((self.frames, elements))

    def _when(self, delay_ms: float, lost: np.ndarray) -> np.ndarray:
        """(frames,) time that each frame shows, in frames: delayed, and constant while the signal is lost."""
        frames = np.arange(self.frames)
        when = np.maximum(frames - delay_ms / 1000 / self.twin.control_period_s, 0)
        # The first frame is always seen, because there is no earlier one to repeat.
        last_seen = np.maximum.accumulate(np.where(lost & (frames > 0), 0, frames))
        return when[last_seen]

    def _encoders(self) -> np.ndarray:
        bias = self.rng.uniform(-1, 1, self.joints) * self.drawn["encoder_bias_mrad"]
        return 1e-3 * (bias + self.drawn["encoder_noise_mrad"] * self._white(self.joints))

    def _tracker_bias_mm(self) -> np.ndarray:
        return np.array([*(self.drawn[column] for column in BIAS), 0.0])

    def _outages(self) -> np.ndarray:
        """A tracker loses the object for several frames: a two-state Markov chain."""
        share = self.drawn["tracker_loss_share"]
        chance = self.rng.random(self.frames)
        lost = np.zeros(self.frames, bool)
        if share == 0:
            return lost
        found_again = min(1.0, self.twin.control_period_s / OUTAGE_S)
        lose = min(1.0, found_again * share / max(1 - share, 1e-9))
        for frame in range(1, self.frames):
            lost[frame] = chance[frame] > found_again if lost[frame - 1] else chance[frame] < lose
        return lost

    def _wrench(self) -> np.ndarray:
        """A constant offset plus a drift as the sensor warms up."""
        start, slope = self.rng.standard_normal((2, 3))
        seconds = np.arange(self.frames)[:, None] * self.twin.control_period_s
        offset = self.drawn["force_drift_n"] * (start + slope * seconds / DRIFT_S)
        noise = self._white(6) * np.repeat([self.drawn["force_noise_n"], self.drawn["torque_noise_nm"]], 3)
        return noise + np.column_stack([offset, np.zeros((self.frames, 3))])

    def touch_errors(self, taxels: int) -> dict[str, np.ndarray]:
        drawn, frames = self.drawn, self.frames
        gain = 1 + drawn["touch_gain_error"] * self.rng.standard_normal(taxels)
        start, slope = self.rng.standard_normal((2, taxels))
        alive = self.rng.random(taxels) >= drawn["touch_dead_share"]
        seconds = np.arange(frames)[:, None] * self.twin.control_period_s
        drift = drawn["touch_drift_n"] * (start + slope * seconds / DRIFT_S)
        return {
            "touch": drift + drawn["touch_noise_n"] * self._white(taxels),
            "touch_gain": np.tile(gain, (frames, 1)),
            "touch_alive": np.tile(alive, (frames, 1)),
            "touch_threshold": np.full(frames, drawn["touch_threshold_n"]),
            "touch_step": np.full(frames, drawn["touch_step_n"]),
        }

    def _imu(self) -> np.ndarray:
        """Accelerations, then angular rates, each with white noise and a random-walk bias."""
        noise = np.repeat([self.drawn["accelerometer_noise_m_s2"], 1e-3 * self.drawn["gyro_noise_mrad_s"]], 3)
        white, steps = self._white(6), self._white(6)
        walk = self.drawn["imu_walk_per_s"] * np.sqrt(self.twin.control_period_s) * np.cumsum(steps, axis=0)
        return noise * (white + walk)

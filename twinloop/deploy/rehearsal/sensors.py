"""CellSensors: readings of the encoders, torque sensors and pose tracker of a rehearsal cell.

Every signal is delayed first and then gets its errors. This is deliberately another sensor model than the twin's: a
cell with exactly the errors that the twin assumes would test nothing. The tracker is a camera: its noise grows in dim
light, and it loses the object in the dark.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.randomize.sensing import OUTAGE_S

FULL_LIGHT = 0.5  # below this share of the usual light the tracker begins to lose the object
DARK_LOSS = 0.8  # share of time in which the object is lost in the dark


class Past:
    """History of all channels at fixed steps since the start of the episode. One row per step."""

    def __init__(self, channels: Mapping[str, int], *, step_s: float):
        edges = np.cumsum([0, *channels.values()])
        self._parts = {name: slice(a, b) for name, a, b in zip(channels, edges, edges[1:], strict=False)}
        self._rows = np.zeros((1024, int(edges[-1])))
        self._step_s, self._count = step_s, 0

    def push(self, channels: Mapping[str, np.ndarray]) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        for name, values in channels.items():
            self._rows[self._count, self._parts[name]] = values
        self._count += 1

    @property
    def now_s(self) -> float:
        return (self._count - 1) * self._step_s

    def at(self, channel: str, time_s: float, *, between: bool = True) -> np.ndarray:
        """Return the channel's value at `time_s`, or its first value for earlier times.

        Args:
            between: interpolate linearly between the two nearest rows; otherwise use the earlier row.
        """
        when = float(np.clip(time_s / self._step_s, 0, self._count - 1))
        part = self._parts[channel]
        before = int(when + 1e-9)
        share = when - before
        if not between or share < 1e-6:
            return self._rows[before, part].copy()
        return (1 - share) * self._rows[before, part] + share * self._rows[before + 1, part]


class CellSensors:
    """The sensors during one episode. `look` is called once per control period.

    Args:
        values: values of the rows of the sensing and latency gaps.
        things: first column of each thing's pose in the environment state.
        calibration: generator of the constant errors.
        rng: generator of the random errors.
    """

    def __init__(
        self,
        values: Mapping[str, float],
        *,
        joints: int,
        things: tuple[int, ...],
        period_s: float,
        calibration: np.random.Generator,
        rng: np.random.Generator,
    ):
        self._values, self._period_s, self._rng, self._things = values, period_s, rng, things
        self._bias_rad = 1e-3 * values["encoder_bias_mrad"] * calibration.uniform(-1, 1, joints)
        angle = calibration.uniform(0, 2 * np.pi)
        self._tracker_bias_m = 1e-3 * values.get("tracker_bias_mm", 0.0) * np.array([np.cos(angle), np.sin(angle), 0])
        self._light = max(values.get("lighting_intensity", 1.0), 0.01)
        self._hidden = False
        self._shown_s = self._tracked_s = 0.0

    def look(self, past: Past) -> dict[str, np.ndarray]:
        """Return the current readings: position, velocity, effort, environment."""
        values, rng, now_s = self._values, self._rng, past.now_s
        if not rng.random() < values["observation_loss_share"]:
            self._shown_s = now_s - values["observation_delay_ms"] / 1000
        position, velocity, effort = (past.at(name, self._shown_s) for name in ("position", "velocity", "effort"))
        joints = slice(len(self._bias_rad))
        white = rng.standard_normal((2, joints.stop))
        position[joints] += self._bias_rad + 1e-3 * values["encoder_noise_mrad"] * white[0]
        step_rad = 1e-3 * values.get("encoder_step_mrad", 0.0)
        if step_rad > 0:
            position[joints] = step_rad * np.round(position[joints] / step_rad)
        effort[joints] += values["effort_noise_nm"] * white[1]
        return {"position": position, "velocity": velocity, "effort": effort, "environment": self._track(past)}

    def _track(self, past: Past) -> np.ndarray:
        values, rng = self._values, self._rng
        if not self._lost(rng.random()):
            self._tracked_s = past.now_s - values["tracker_delay_ms"] / 1000
        seen = past.at("environment", self._tracked_s, between=False)
        between = past.at("environment", self._tracked_s)
        for column in self._things:
            white = rng.standard_normal((2, 3)) / min(self._light, 1.0)
            place, turn = slice(column, column + 3), slice(column + 3, column + 7)
            seen[place] = between[place] + self._tracker_bias_m + 1e-3 * values["tracker_noise_mm"] * white[0]
            half = np.deg2rad(values["tracker_turn_noise_deg"]) * white[1] / 2
            seen[turn] = _product(np.array([1.0, *half]), seen[turn])
            seen[turn] /= np.linalg.norm(seen[turn])
        return seen

    def _lost(self, chance: float) -> bool:
        """Advance a two-state Markov chain: the tracker loses the object for a while, not for single frames."""
        values = self._values
        dark = DARK_LOSS * max(0.0, 1 - self._light / FULL_LIGHT)
        detected_share = (1 - values["tracker_loss_share"]) * (1 - values.get("human_hiding_share", 0.0)) * (1 - dark)
        share = min(1 - detected_share, 0.95)
        find = min(1.0, self._period_s / OUTAGE_S)
        lose = min(1.0, find * share / max(1 - share, 1e-9))
        self._hidden = chance > find if self._hidden else chance < lose
        return self._hidden


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two quaternions w, x, y, z."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.array([w, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])

"""Measures: quantities that can be plotted over an episode, each with its smallest visible difference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.run.effect import RowEffect

CLEAR = 2.0
"""A difference of this many times the least visible one is clear."""

Channels = Mapping[str, np.ndarray]
"""Channel -> (f, d) of one episode."""


@dataclass(frozen=True)
class Measure:
    """A quantity to plot.

    Attributes:
        label: name and unit.
        least: the smallest difference that counts, in that unit.
        of: (true channels, sensor channels) of one episode -> (f,) values. KeyError if a channel is missing.
    """

    label: str
    least: float
    of: Callable[[Channels, Channels], np.ndarray]


def curves(effect: RowEffect, measure: Measure) -> list[np.ndarray]:
    """(f,) values of a measure, for each value of the row."""
    series = []
    for number in range(len(effect.values)):
        rows = effect.frames(number)
        true = {name: effect.episodes[name][rows].astype(float) for name in effect.episodes.channels}
        true["tool"] = effect.tool_m[rows]
        series.append(measure.of(true, {name: values[rows].astype(float) for name, values in effect.seen.items()}))
    return series


def difference(effect: RowEffect, measure: Measure) -> float:
    """The largest difference between the curves of the lowest and the highest value, in units of `least`."""
    return float(np.nanmax(_apart(effect, measure), initial=0.0))


def largest(effect: RowEffect, measures: Mapping[str, Measure]) -> str:
    """The measure with the largest mean difference among those with a clear one.

    The mean is used because a small delay of a peak is a large difference for a moment. If no measure has a clear
    difference, the largest difference at one moment decides.
    """
    mean, most = {}, {}
    for name, measure in measures.items():
        try:
            apart = _apart(effect, measure)
        except KeyError:
            continue
        mean[name], most[name] = float(np.nanmean(apart)), float(np.nanmax(apart, initial=0.0))
    clear = [name for name in mean if most[name] >= CLEAR]
    return max(clear, key=mean.__getitem__) if clear else max(most, key=most.__getitem__)


def _apart(effect: RowEffect, measure: Measure) -> np.ndarray:
    low, *_, high = curves(effect, measure)
    shared = min(len(low), len(high))
    return np.abs(low[:shared] - high[:shared]) / measure.least


def _turned_deg(quaternions: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Angle between orientations. A quaternion and its negative are the same orientation."""
    cosine = np.abs((quaternions * reference).sum(axis=-1))
    return np.rad2deg(2 * np.arccos(np.clip(cosine, -1, 1)))


def _norm(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(values).sum(axis=1))


def _error(channel: str, part: slice, scale: float) -> Callable[[Channels, Channels], np.ndarray]:
    """Error of a sensor: the norm of the difference over a part of a channel."""
    return lambda true, seen: scale * _norm(seen[channel][:, part] - true[channel][:, part])


def _one(channel: str, column: int, scale: float = 1.0) -> Callable[[Channels, Channels], np.ndarray]:
    return lambda true, _: scale * true[channel][:, column]


MOTION: dict[str, Measure] = {
    "tracking": Measure("arm behind its target (mrad)", 1.0,
                        lambda true, _: 1000 * _norm((true["position"] - true["action"])[:, :-1])),
    "wrist": Measure("joint 6 behind its target (mrad)", 1.0,
                     lambda true, _: 1000 * (true["position"] - true["action"])[:, 5]),
    "torque": Measure("torque of the arm (N·m)", 0.5, lambda true, _: _norm(true["effort"][:, :-1])),
    "shaking": Measure("turn rate of the wrist's joints (mrad/s)", 10.0,
                       lambda true, _: 1000 * _norm(true["velocity"][:, 4:-1])),
    "opening": Measure("gripper opening (mm)", 0.5, lambda true, _: 1000 * true["position"][:, -1]),
    "grip": Measure("force of a finger (N)", 1.0, _one("contact", 0)),
    "support": Measure("force of the table on the object (N)", 0.2, _one("contact", 2)),
    "hardest": Measure("hardest contact (N)", 2.0, _one("hardest_contact", 0)),
    "sinking": Measure("deepest contact (mm)", 0.02, _one("penetration", 0, 1000.0)),
    "height": Measure("height of the object (mm)", 1.0, _one("environment", 2, 1000.0)),
    "way": Measure("distance of the object from its start (mm)", 1.0,
                   lambda true, _: 1000 * _norm(true["environment"][:, :3] - true["environment"][:1, :3])),
    "tumble": Measure("turn of the object from its start (°)", 0.3,
                      lambda true, _: _turned_deg(true["environment"][:, 3:7], true["environment"][:1, 3:7])),
    "hold": Measure("object from between the finger tips (mm)", 0.2,
                    lambda true, _: np.where(true["contact"][:, 0] > 0.5,
                                             1000 * _norm(true["environment"][:, :3] - true["tool"]), 0.0)),
    "goal": Measure("goal from its usual place (mm)", 2.0,
                    lambda true, _: 1000 * _norm(true["environment"][:, 7:10] - (0.5, 0.24, 0.16))),
    "goal_turn": Measure("turn of the goal (°)", 1.0,
                         lambda true, _: _turned_deg(true["environment"][:, 10:14], np.array([1.0, 0, 0, 0]))),
}  # fmt: skip
"""Measures of the true motion."""

SENSOR_ERRORS: dict[str, Measure] = {
    "encoders": Measure("error of the joint positions (mrad)", 0.2, _error("position", slice(None, -1), 1000.0)),
    "speeds": Measure("error of the joint velocities (mrad/s)", 5.0, _error("velocity", slice(None, -1), 1000.0)),
    "efforts": Measure("error of the joint torques (N·m)", 0.1, _error("effort", slice(None, -1), 1.0)),
    "tracker": Measure("error of the object's position (mm)", 0.5, _error("environment", slice(0, 3), 1000.0)),
    "tracker_turn": Measure("error of the object's orientation (°)", 0.5,
                            lambda true, seen: _turned_deg(seen["environment"][:, 3:7], true["environment"][:, 3:7])),
    "force": Measure("error of the wrist's force (N)", 0.05, _error("wrench", slice(0, 3), 1.0)),
    "wrench_torque": Measure("error of the wrist's torque (N·m)", 0.002, _error("wrench", slice(3, 6), 1.0)),
    "acceleration": Measure("error of the hand's acceleration (m/s²)", 0.01, _error("inertial", slice(0, 3), 1.0)),
    "touch": Measure("error of the fingers' touch (N)", 0.01, _error("touch", slice(None), 1.0)),
    "turn_rate": Measure("error of the hand's turn rate (mrad/s)", 0.5, _error("inertial", slice(3, 6), 1000.0)),
}  # fmt: skip
"""Measures of sensor readings compared with the true values."""


def further_sensor_errors(effect: RowEffect) -> dict[str, Measure]:
    """Errors of sensors that SENSOR_ERRORS does not have. `least` is a hundredth of the sensor's range."""
    known = ("position", "velocity", "effort", "environment", "wrench", "inertial", "touch")
    return {
        channel: Measure(
            f"error of {channel}", max(0.01 * float(np.ptp(values)), 1e-9), _error(channel, slice(None), 1.0)
        )
        for channel, values in effect.seen.items()
        if channel not in known
    }

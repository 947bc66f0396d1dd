"""What a force-torque sensor at rest says: noise about a line, and how steep that line is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, profiled


@dataclass(frozen=True)
class LinearDrift:
    """One axis of one log: noise about the line, the line's slope a second and how sure that slope is."""

    noise: IntervalEstimate
    start: float
    slope: float
    slope_error: float


def line_of(readings: np.ndarray, time_s: np.ndarray) -> LinearDrift:
    since = np.asarray(time_s, float) - np.mean(time_s)
    slope = float(since @ readings / (since @ since))
    middle = float(np.mean(readings))
    residuals = readings - middle - slope * since
    noise = deviation(residuals, degrees=len(readings) - 2)
    return LinearDrift(noise, middle + slope * float(since[0]), slope, noise.value / float(np.sqrt(since @ since)))


def drift_scale(lines: Sequence[LinearDrift], *, over_s: float, zeroed: bool) -> IntervalEstimate:
    """How far readings drift in `over_s`: the deviation of the slopes of several axes and logs about none.

    `zeroed`: the sensor was told to read 0 just before each log, so that where it starts is drift as well.
    """
    moved = [(line.slope * over_s, line.slope_error * over_s) for line in lines]
    if zeroed:
        moved += [(line.start, 2 * line.slope_error * over_s) for line in lines]
    values, errors = np.array(moved).T

    def log_likelihood(scale: float) -> float:
        variance = scale**2 + errors**2
        return float(-0.5 * np.sum(np.log(variance) + values**2 / variance))

    most = float(np.sqrt(np.mean(values**2)))
    return profiled(log_likelihood, np.concatenate([[0.0], np.geomspace(most / 100, 20 * most, 40)]))

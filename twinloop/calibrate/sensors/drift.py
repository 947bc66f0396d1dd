"""Noise and linear drift of a force-torque sensor at rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, profiled


@dataclass(frozen=True)
class LinearDrift:
    """A line fitted to one axis of one log.

    Attributes:
        noise: standard deviation about the line.
        start: value of the line at the first reading.
        slope: slope per second.
        slope_error: standard error of the slope.
    """

    noise: IntervalEstimate
    start: float
    slope: float
    slope_error: float


def line_of(readings: np.ndarray, time_s: np.ndarray) -> LinearDrift:
    """Fit a line to (frames,) readings by least squares."""
    since = np.asarray(time_s, float) - np.mean(time_s)
    slope = float(since @ readings / (since @ since))
    middle = float(np.mean(readings))
    residuals = readings - middle - slope * since
    noise = deviation(residuals, degrees=len(readings) - 2)
    return LinearDrift(noise, middle + slope * float(since[0]), slope, noise.value / float(np.sqrt(since @ since)))


def drift_scale(lines: Sequence[LinearDrift], *, over_s: float, zeroed: bool) -> IntervalEstimate:
    """Drift of the readings in `over_s` seconds: standard deviation of the slopes of several axes and logs about 0.

    Args:
        zeroed: the sensor was zeroed just before each log, so that its first value counts as drift as well.
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

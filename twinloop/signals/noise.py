"""Noise of a sensor while nothing moves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOW_S = 0.5
MIN_WINDOWS = 4
STILL = 0.02  # largest drift within a still window, as a share of the span


@dataclass(frozen=True)
class NoiseEstimate:
    """Noise of one channel.

    Attributes:
        std: standard deviation within still windows, without their trend.
        still_s: total duration of the still windows.
        quantum: smallest step between two values.
        unknown: why there is no estimate; "" if there is one.
    """

    std: float
    still_s: float
    quantum: float
    unknown: str = ""


def noise_floor(episodes: Sequence[np.ndarray], *, rate_hz: float) -> NoiseEstimate:
    """Noise of one channel, given as one array (rows,) per episode.

    Windows that drift by less than `STILL` of the span count as still.
    """
    rows = max(4, round(WINDOW_S * rate_hz))
    whole = [values[: len(values) // rows * rows].reshape(-1, rows) for values in episodes if len(values) >= rows]
    windows = np.concatenate(whole) if whole else np.empty((0, rows))
    steps = np.abs(np.diff(np.concatenate([np.unique(values) for values in episodes]))) if episodes else np.empty(0)
    quantum = float(steps[steps > 1e-12].min()) if (steps > 1e-12).any() else 0.0
    if len(windows) < MIN_WINDOWS:
        return NoiseEstimate(float("nan"), 0.0, quantum, "too short")
    everything = np.concatenate(list(episodes))
    span = float(np.subtract(*np.quantile(everything, (0.99, 0.01))))
    time = np.arange(rows) - (rows - 1) / 2
    centred = windows - windows.mean(axis=1, keepdims=True)
    slopes = centred @ time / (time @ time)
    drift = np.abs(slopes) * rows
    left = centred - slopes[:, None] * time
    still = drift <= STILL * span if span > 0 else np.ones(len(windows), bool)
    if still.sum() < MIN_WINDOWS:
        return NoiseEstimate(float("nan"), 0.0, quantum, "the signal never rests for half a second")
    # The median is not affected by windows in which the robot was touched.
    std = float(np.median(np.sqrt((left[still] ** 2).sum(axis=1) / (rows - 2))))
    return NoiseEstimate(std, float(still.sum() * rows / rate_hz), quantum)

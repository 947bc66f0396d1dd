"""How much a sensor varies while nothing moves."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

WINDOW_S = 0.5
LEAST_WINDOWS = 4
STILL = 0.02  # of the span: how far a still channel may wander in a window


@dataclass(frozen=True)
class NoiseEstimate:
    """std: within still windows, trends removed. still_s: how long nothing moved. quantum: the smallest step there is.
    unknown: why nothing can be told, else ""."""

    std: float
    still_s: float
    quantum: float
    unknown: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def noise_floor(episodes: Sequence[np.ndarray], *, rate_hz: float) -> NoiseEstimate:
    """Of one channel, (rows,) an episode. Still is where it wanders least; that must be little against its span."""
    rows = max(4, round(WINDOW_S * rate_hz))
    whole = [values[: len(values) // rows * rows].reshape(-1, rows) for values in episodes if len(values) >= rows]
    windows = np.concatenate(whole) if whole else np.empty((0, rows))
    steps = np.abs(np.diff(np.concatenate([np.unique(values) for values in episodes]))) if episodes else np.empty(0)
    quantum = float(steps[steps > 1e-12].min()) if (steps > 1e-12).any() else 0.0
    if len(windows) < LEAST_WINDOWS:
        return NoiseEstimate(float("nan"), 0.0, quantum, "too short")
    everything = np.concatenate(list(episodes))
    span = float(np.subtract(*np.quantile(everything, (0.99, 0.01))))
    time = np.arange(rows) - (rows - 1) / 2
    centred = windows - windows.mean(axis=1, keepdims=True)
    slopes = centred @ time / (time @ time)
    drift = np.abs(slopes) * rows
    left = centred - slopes[:, None] * time
    still = drift <= STILL * span if span > 0 else np.ones(len(windows), bool)
    if still.sum() < LEAST_WINDOWS:
        return NoiseEstimate(float("nan"), 0.0, quantum, "it never rests for half a second")
    # The median window: one in which something was touched does not count.
    std = float(np.median(np.sqrt((left[still] ** 2).sum(axis=1) / (rows - 2))))
    return NoiseEstimate(std, float(still.sum() * rows / rate_hz), quantum)

"""Error between command and measurement of a joint."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrackingError:
    """Command minus measurement.

    Attributes:
        rms, p95: root mean square, and 95th percentile of the absolute value.
        bias: mean.
        share: `rms` as a share of the command's span.
    """

    rms: float
    p95: float
    bias: float
    share: float


def tracking(episodes: Sequence[tuple[np.ndarray, np.ndarray]]) -> TrackingError:
    """Tracking error of (command, measured) pairs in the same unit, one pair per episode."""
    command = np.concatenate([goal for goal, _ in episodes])
    error = command - np.concatenate([measured for _, measured in episodes])
    low, high = np.quantile(command, (0.01, 0.99))
    rms = float(np.sqrt(np.mean(error**2)))
    return TrackingError(
        rms, float(np.quantile(np.abs(error), 0.95)), float(error.mean()), rms / max(float(high - low), 1e-12)
    )

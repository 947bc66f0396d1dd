"""How far a joint is from where it is told to be."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TrackingError:
    """rms, p95: of command minus measurement. bias: its mean. share: rms as a share of the command's span."""

    rms: float
    p95: float
    bias: float
    share: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def tracking(episodes: Sequence[tuple[np.ndarray, np.ndarray]]) -> TrackingError:
    """Of (command, measured) pairs in one unit."""
    command = np.concatenate([told for told, _ in episodes])
    error = command - np.concatenate([seen for _, seen in episodes])
    low, high = np.quantile(command, (0.01, 0.99))
    rms = float(np.sqrt(np.mean(error**2)))
    return TrackingError(
        rms, float(np.quantile(np.abs(error), 0.95)), float(error.mean()), rms / max(float(high - low), 1e-12)
    )

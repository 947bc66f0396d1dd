"""Confidence interval of the coverage of a band."""

import numpy as np

from twinloop.calibrate.replay import Replay

RESAMPLES = 500
ENDS = (0.05, 0.95)


def coverage_interval(replayed: Replay, channel: str, *, rng: np.random.Generator) -> tuple[float, float]:
    """90 % interval of the coverage of a channel, from a bootstrap over logs: errors within a log are correlated.

    A resample pools its measurements, as `Replay.coverage` does. With few logs the interval is too narrow.
    """
    shares = replayed.coverage_by_log[channel]
    frames = np.array([replayed.by_log[log][channel].frames for log in shares])
    # Relative to the mean, so that logs of equal length all have exactly the weight 1.
    weights = frames / frames.mean()
    inside = np.array(list(shares.values())) * weights
    picks = rng.integers(len(shares), size=(RESAMPLES, len(shares)))
    low, high = np.quantile(inside[picks].sum(axis=1) / weights[picks].sum(axis=1), ENDS)
    return float(low), float(high)

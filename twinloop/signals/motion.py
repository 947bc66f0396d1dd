"""Speed, jerk and frequency content of a channel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BANDS_HZ = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
MIN_ROWS = 16


@dataclass(frozen=True)
class MotionStatistics:
    """Statistics of the motion of one channel.

    Attributes:
        speed_p50, speed_p95, speed_max: percentiles of the speed, per second.
        jerk_rms: per second³.
        band_hz: frequency below which 95 % of the power of the speed lies.
        power: share of this power in each band of `BANDS_HZ`, up to half the rate.
    """

    speed_p50: float
    speed_p95: float
    speed_max: float
    jerk_rms: float
    band_hz: float
    power: tuple[float, ...]


def motion(episodes: Sequence[np.ndarray], *, rate_hz: float) -> MotionStatistics:
    """Motion of one channel, given as one array (rows,) per episode; NaN if all episodes are too short."""
    long = [values for values in episodes if len(values) >= MIN_ROWS]
    if not long:
        nan = float("nan")
        return MotionStatistics(nan, nan, nan, nan, nan, ())
    speeds = np.concatenate([np.abs(np.diff(values)) for values in long]) * rate_hz
    jerks = np.concatenate([np.diff(values, n=3) for values in long]) * rate_hz**3
    frequency, power = spectrum(long, rate_hz=rate_hz)
    total = power.sum()
    edges = [edge for edge in BANDS_HZ if edge < rate_hz / 2]
    shares, band_hz = (), 0.0
    if total > 0:
        places = np.searchsorted(edges, frequency, side="right") - 1
        shares = tuple((np.bincount(places, power, minlength=len(edges)) / total).tolist())
        band_hz = float(frequency[np.searchsorted(np.cumsum(power), 0.95 * total)])
    p50, p95 = np.quantile(speeds, (0.5, 0.95))
    return MotionStatistics(
        float(p50), float(p95), float(speeds.max()), float(np.sqrt(np.mean(jerks**2))), band_hz, shares
    )


def spectrum(episodes: Sequence[np.ndarray], *, rate_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """(frequencies, power of the speed), averaged over windows of two seconds that overlap by half (Welch)."""
    rows = max(MIN_ROWS, int(2 ** np.ceil(np.log2(2 * rate_hz))))
    rows = min(rows, max(MIN_ROWS, min(len(values) for values in episodes) - 1))
    shape = np.hanning(rows)
    power, count = np.zeros(rows // 2 + 1), 0
    for values in episodes:
        speed = np.diff(values) * rate_hz
        for start in range(0, len(speed) - rows + 1, max(1, rows // 2)):
            part = speed[start : start + rows]
            power += np.abs(np.fft.rfft((part - part.mean()) * shape)) ** 2
            count += 1
    return np.fft.rfftfreq(rows, 1 / rate_hz), power / max(count, 1)

"""Estimate the rate and gaps of a recorded clock.

Recorded clocks are rarely even. Stamps are rounded to a tick (often 1 ms), rows come late, rows are lost, and two rows
get the same stamp. The median step of a clock with 1 ms ticks may say 10 ms while the mean step is 10.6 ms. Both are
reported here, and a declared rate is accepted if it agrees with either.
"""

from dataclasses import dataclass

import numpy as np

GAP_PERIODS = 3.0
LOST_SHARE = 0.25
"""If a larger share of the steps is long, the clock is coarse or the rate is lower; rows are not being lost."""
NEAR = (0.5, 1.5)
ROUND_SHARE = 0.002


@dataclass(frozen=True)
class Clock:
    """The clock of one recording.

    Attributes:
        rate_hz: mean rate without gaps and lost rows; NaN for fewer than two rows.
        typical_hz: rate of the median step.
        repeated: number of rows with the same stamp as the row before.
        backward: number of rows with an earlier stamp than the row before, or with no stamp.
        gaps: indices of rows after which more than `GAP_PERIODS` periods pass.
        gap_s: time lost in these gaps.
    """

    rate_hz: float
    typical_hz: float
    repeated: int
    backward: int
    gaps: tuple[int, ...]
    gap_s: float

    def nearest_hz(self, declared_hz: float) -> float:
        """The mean or the typical rate, whichever is nearer to a declared rate: a recorder may declare either."""
        return min((self.rate_hz, self.typical_hz), key=lambda rate_hz: abs(np.log(rate_hz / declared_hz)))


def estimate_clock(time_s: np.ndarray) -> Clock:
    """Estimate the clock from the stamps `time_s`, one per row."""
    stamps = np.asarray(time_s, float)
    steps = np.diff(stamps)
    backward, repeated = int((~(steps >= 0)).sum()), int((steps == 0).sum())
    steps = np.diff(spread_stamps(stamps))
    steps = np.where(steps > 0, steps, np.nan)
    if not np.isfinite(steps).any():
        return Clock(np.nan, np.nan, repeated, backward, (), 0.0)
    typical = float(np.nanmedian(steps))
    gaps = np.flatnonzero(steps > GAP_PERIODS * typical)
    regular = steps[(steps > NEAR[0] * typical) & (steps <= GAP_PERIODS * typical)]
    lost = regular >= NEAR[1] * typical
    if lost.mean() < LOST_SHARE:
        regular = regular[~lost]
    gap_s = float((steps[gaps] - typical).sum())
    return Clock(
        rate_hz=1 / float(regular.mean()),
        typical_hz=1 / typical,
        repeated=repeated,
        backward=backward,
        gaps=tuple(int(index) for index in gaps),
        gap_s=gap_s,
    )


def spread_stamps(time_s: np.ndarray) -> np.ndarray:
    """Stamps with runs of the same stamp spread evenly up to the next one, so that time increases with every row.

    The clock of such rows is coarser than their period. Stamps that run backwards are left as they are.
    """
    stamps = np.asarray(time_s, float).copy()
    if len(stamps) < 2 or not (np.diff(stamps) == 0).any():
        return stamps
    starts = np.flatnonzero(np.r_[True, np.diff(stamps) != 0])
    lengths = np.diff(np.r_[starts, len(stamps)])
    rooms = np.r_[np.diff(stamps[starts]), 0.0]
    forward = rooms[rooms > 0]
    # The last run has no next stamp, so its rows get the usual distance.
    usual = float(np.median(forward / lengths[:-1][rooms[:-1] > 0])) if len(forward) else 0.0
    rooms[-1] = usual * lengths[-1]
    within = np.arange(len(stamps)) - np.repeat(starts, lengths)
    share = np.repeat(np.maximum(rooms, 0.0) / lengths, lengths)
    # A gap after a repeated stamp is not filled with its rows.
    return stamps + within * np.minimum(share, NEAR[1] * usual if usual > 0 else np.inf)


def nominal_rate(rate_hz: float) -> float:
    """A measured rate, rounded to a whole number of hertz where it is that close, else to six digits."""
    whole = round(rate_hz)
    return float(whole) if whole and abs(rate_hz / whole - 1) < ROUND_SHARE else float(f"{rate_hz:.6g}")

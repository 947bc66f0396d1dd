"""Response of a joint to its command: dead time and first-order lag.

    τ dy/dt = g u(t - θ) - y,    u held between rows

These are other quantities than the delay of `delay.py`, which is one shift in rows: about θ + τ plus one row for the
hold. For the shoulder lift of an SO-101 at 30 Hz, the shift is 139 ms, θ = 60 ± 4 ms and τ = 58 ± 6 ms. The shift
bounds the dead times that are tried here, which halves the time and changes no result.

For each dead time θ and lag τ of a grid, the exact response to the recorded commands is compared with the measurement.
Both are taken as increments over a tenth of a second, so that gravity and offsets do not count. The best pair is
refined between grid points. Its interval is a bootstrap over stretches of a few seconds, because neighbouring rows are
correlated.

`held`: a drive holds each command until the next one. `linear`: the command is a continuous motion that was sampled;
then the dead time is half a period longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from twinloop.signals.delay import estimate_delay, vertex

Hold = Literal["held", "linear"]
Episodes = Sequence[tuple[np.ndarray, np.ndarray]]

LONGEST_DELAY_S = 0.5
LONGEST_LAG_S = 1.0
INCREMENT_S = 0.12
STRETCH_S = 3.0
MIN_ROWS = 60
MIN_EXPLAINED = 0.5
BOOTSTRAPS = 200
MIN_HALF_WIDTH_S = 0.001
MAX_INTERVAL_S = 0.08  # a wider interval is reported as unknown


@dataclass(frozen=True)
class Response:
    """Times in seconds, each with a 95 % interval.

    Attributes:
        delay_s: dead time.
        lag_s: time constant of the lag.
        total_s: both together, the delay of a slow motion. It is known better than its parts.
        gain: how far the joint moves per unit of its command.
        explained: share of the motion that the model explains.
        unknown: why there is no estimate; "" if there is one.
    """

    delay_s: float
    delay_interval_s: tuple[float, float]
    lag_s: float
    lag_interval_s: tuple[float, float]
    total_s: float
    total_interval_s: tuple[float, float]
    gain: float
    explained: float
    unknown: str = ""


def response(episodes: Episodes, *, rate_hz: float, seed: int, hold: Hold = "held") -> Response:
    """Response of (command, measured) pairs of arrays (rows,) in the same unit, one pair per episode."""
    stretches = _stretches(episodes, rate_hz)
    if not stretches:
        return _unknown("too few rows with motion")
    step = max(0.004, 0.25 / rate_hz)
    delays = np.arange(0.0, _longest_delay_s(stretches, rate_hz) + 1e-9, step)
    lags = np.concatenate([[0.0], np.geomspace(0.004, LONGEST_LAG_S, 15)])
    row, column = _best(_sums(stretches, delays, lags, rate_hz, hold).sum(axis=2))
    # Two finer grids around the best: dead time and lag can replace each other in part, so the minimum is narrow.
    delays = _around(delays[row], 2 * step, 13)
    lags = np.unique(
        np.concatenate([[0.0] if lags[column] < 0.01 else [], np.linspace(0.55, 1.6, 14) * max(lags[column], 0.004)])
    )
    wide = _sums(stretches, delays, lags, rate_hz, hold)
    row, column = _best(wide.sum(axis=2))
    near = [_around(delays[row], step / 2, 9), _around(lags[column], 1.5 * float(np.diff(lags).max()), 11)]
    whole = _sums(stretches, near[0], near[1], rate_hz, hold).sum(axis=2)
    place = _best(whole)
    delay, lag = _refined(whole, near[0], near[1])
    xx, xy, yy = whole[place]
    explained = float(xy**2 / (xx * yy)) if xx > 0 and yy > 0 else 0.0
    rng = np.random.default_rng(seed)
    count = wide.shape[2]
    drawn = np.array([
        _refined(wide[:, :, rng.integers(count, size=count)].sum(axis=2), delays, lags) for _ in range(BOOTSTRAPS)
    ])  # fmt: skip
    ends = drawn - np.median(drawn, axis=0) + (delay, lag)
    intervals = [_interval(ends[:, 0], delay), _interval(ends[:, 1], lag), _interval(ends.sum(axis=1), delay + lag)]
    if hold == "held" and lag < 0.15 / rate_hz:
        # Without a lag every dead time within one period gives the same rows.
        first, last = (np.ceil(delay * rate_hz) - 1) / rate_hz, np.ceil(delay * rate_hz) / rate_hz
        delay = float(max(first + last, 0.0) / 2)
        ends = (max(0.0, float(first)), float(last))
        intervals = [
            (min(low, ends[0]), max(high, ends[1])) if at != 1 else (low, high)
            for at, (low, high) in enumerate(intervals)
        ]
    unknown = ""
    if explained < MIN_EXPLAINED:
        unknown = f"a delayed lag explains {100 * explained:.0f} % of the motion, so it does not follow these commands"
    elif intervals[2][1] - intervals[2][0] > MAX_INTERVAL_S:
        unknown = "the motion does not show the delay"
    elif delay >= LONGEST_DELAY_S - step:
        unknown = f"the delay is {LONGEST_DELAY_S:g} s or more, or it does not follow at all"
    return Response(
        delay_s=delay, delay_interval_s=intervals[0], lag_s=lag, lag_interval_s=intervals[1], total_s=delay + lag,
        total_interval_s=intervals[2], gain=float(xy / xx) if xx > 0 else float("nan"), explained=explained,
        unknown=unknown,
    )  # fmt: skip


def simulate(
    command: np.ndarray,
    delay_s: float,
    lag_s: float,
    *,
    rate_hz: float,
    hold: Hold = "held",
    start: float | None = None,
) -> np.ndarray:
    """Positions of a joint with this dead time and lag at every row.

    Args:
        start: position of the first row; that of the first command if None.
    """
    from scipy.signal import lfilter

    period = 1 / rate_hz
    start = float(command[0]) if start is None else start
    if hold == "linear":
        rows = np.arange(len(command)) - delay_s * rate_hz
        late = np.interp(rows, np.arange(len(command)), command)
        if lag_s <= 0:
            return late
        # Exact for an input that is straight between rows.
        decay = np.exp(-period / lag_s)
        ramp = lag_s / period * (1 - decay)
        return lfilter([1 - ramp, ramp - decay], [1, -decay], late, zi=[start - (1 - ramp) * late[0]])[0]
    whole, part = divmod(delay_s * rate_hz, 1.0)
    early = _shifted(command, int(whole) + 1)  # held into this row for the first `part` of it
    earlier = _shifted(command, int(whole) + 2)
    if lag_s <= 0:
        return earlier if part > 0 else early
    decay, rest = np.exp(-period / lag_s), np.exp(-(1 - part) * period / lag_s)
    driven = (1 - rest) * early + (rest - decay) * earlier
    driven[0] = start
    return np.asarray(lfilter([1.0], [1, -decay], driven))


def _shifted(values: np.ndarray, rows: int) -> np.ndarray:
    rows = min(rows, len(values))
    return np.concatenate([np.full(rows, values[0]), values[: len(values) - rows]])


def _stretches(episodes: Episodes, rate_hz: float) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(command, measured, index of the stretch of each row) of the episodes in which the command moves."""
    out, number = [], 0
    for command, measured in episodes:
        if len(command) < MIN_ROWS / 2 or not np.isfinite(command).all() or not np.isfinite(measured).all():
            continue
        labels = number + np.arange(len(command)) // max(1, round(STRETCH_S * rate_hz))
        number = int(labels[-1]) + 1
        out.append((command.astype(np.float64), measured.astype(np.float64), labels))
    total = sum(len(command) for command, _, _ in out)
    moved = sum(int((np.diff(command) != 0).sum()) for command, _, _ in out)
    alive = any(np.ptp(measured) > 0 for _, measured, _ in out)
    return out if total >= MIN_ROWS and moved >= MIN_ROWS / 6 and alive else []


def _longest_delay_s(stretches, rate_hz: float) -> float:
    """The delay of the measured motion, which contains the dead time, plus two rows."""
    apart = max(1, round(INCREMENT_S * rate_hz))
    pairs = [(command[apart:] - command[:-apart], measured[apart:] - measured[:-apart])
             for command, measured, _ in stretches if len(command) > 2 * apart]  # fmt: skip
    delay = estimate_delay(pairs, shifts=range(int(LONGEST_DELAY_S * rate_hz) + 2), fit_gain=True)
    if delay is None or delay.correlation < 0:
        return LONGEST_DELAY_S
    return min((delay.rows + 2) / rate_hz, LONGEST_DELAY_S)


def _sums(stretches, delays: np.ndarray, lags: np.ndarray, rate_hz: float, hold: Hold) -> np.ndarray:
    """(delays, lags, stretches, 3): sums of x², x y and y² of increments, x computed and y measured."""
    apart = max(1, round(INCREMENT_S * rate_hz))
    count = int(stretches[-1][2][-1]) + 1
    out = np.zeros((len(delays), len(lags), count, 3))
    for command, measured, labels in stretches:
        if len(command) <= 2 * apart:
            continue
        # The first rows depend on commands before the log began.
        begin = min(len(command) // 4, round(0.3 * rate_hz))
        y, where = (measured[apart:] - measured[:-apart])[begin:], labels[apart:][begin:]
        yy = np.bincount(where, y * y, minlength=count)
        for row, delay in enumerate(delays):
            for column, lag in enumerate(lags):
                simulated = simulate(command, delay, lag, rate_hz=rate_hz, hold=hold)
                x = (simulated[apart:] - simulated[:-apart])[begin:]
                out[row, column, :, 0] += np.bincount(where, x * x, minlength=count)
                out[row, column, :, 1] += np.bincount(where, x * y, minlength=count)
                out[row, column, :, 2] += yy
    return out


def _unexplained(sums: np.ndarray) -> np.ndarray:
    """(delays, lags) unexplained share of the measured motion with the best gain."""
    xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        left = 1 - np.maximum(xy, 0) ** 2 / (xx * yy)
    return np.where(np.isfinite(left), left, 1.0)


def _best(sums: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(int(_unexplained(sums).argmin()), sums.shape[:2])
    return int(row), int(column)


def _refined(sums: np.ndarray, delays: np.ndarray, lags: np.ndarray) -> tuple[float, float]:
    """The minimum between grid points, from a parabola in each direction."""
    left = _unexplained(sums)
    row, column = np.unravel_index(int(left.argmin()), left.shape)
    return vertex(delays, left[:, column], int(row)), vertex(lags, left[row], int(column))


def _around(centre: float, reach: float, points: int) -> np.ndarray:
    return np.unique(np.maximum(np.linspace(centre - reach, centre + reach, points), 0.0))


def _interval(drawn: np.ndarray, value: float) -> tuple[float, float]:
    """A bootstrap interval with a least width: commands do not act at the same moment of every period."""
    low, high = np.quantile(drawn, (0.025, 0.975))
    return max(0.0, float(min(low, value - MIN_HALF_WIDTH_S))), float(max(high, value + MIN_HALF_WIDTH_S))


def _unknown(why: str) -> Response:
    nowhere, nan = (float("nan"), float("nan")), float("nan")
    return Response(nan, nowhere, nan, nowhere, nan, nowhere, nan, 0.0, why)

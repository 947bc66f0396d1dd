"""Estimate how many rows one signal is behind another.

This is the one estimator of a delay between command and motion. The follower is shifted back row by row and compared
with the reference; the best shift is refined between rows with a parabola. `response.py` splits such a delay into dead
time and lag, which needs more rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIN_ROWS = 3
MIN_SCANNED = 12  # shifts; fewer are tried in less time than they are scanned in
MAX_ROWS = 8192
"""Longer signals are not scanned: BLAS would start threads for them, which costs more than it gains."""
SCAN_ERROR = 1e-9
"""The scan of all shifts is more accurate than this, if every part of the signals has this share of their variance:"""
SCANNED_VARIANCE = 1e-4
SignalPairs = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class DelayEstimate:
    """How a follower is behind its reference.

    Attributes:
        rows: the delay, with a fraction; negative if the follower leads.
        gain: how far the follower moves per unit of the reference.
        correlation: correlation of the two at this delay; NaN if no gain was fitted.
        rms: RMS of the remaining difference at the nearest tried delay, in the follower's unit.
    """

    rows: float
    gain: float
    correlation: float
    rms: float


def estimate_delay(pairs: SignalPairs, *, shifts: Sequence[int], fit_gain: bool) -> DelayEstimate | None:
    """The delay of (reference, follower) pairs of arrays (rows,) or (rows, columns), one pair per episode.

    Args:
        pairs: NaN rows are left out of the comparison. Columns share one delay.
        shifts: delays to try, in rows, increasing.
        fit_gain: fit a gain and an offset, and take the delay with the highest correlation (of either sign). Otherwise
            the gain is 1, each column has its own offset, and the delay with the least mean square error is taken.

    Returns:
        None where no shift leaves enough rows.
    """
    whole = [(_columns(reference), _columns(follower)) for reference, follower in pairs]
    measure = _best_line if fit_gain else _same_scale
    tried = _promising(whole, shifts) if fit_gain else shifts
    fits = [(shift, fit) for shift in tried if (fit := measure(whole, shift)) is not None]
    if not fits:
        return None
    places = np.array([shift for shift, _ in fits], float)
    left = np.array([fit[0] for _, fit in fits])
    at = int(np.argmin(left))
    _, gain, correlation, rms = fits[at][1]
    return DelayEstimate(vertex(places, left, at), gain, correlation, rms)


def vertex(places: np.ndarray, values: np.ndarray, at: int) -> float:
    """The lowest point of the parabola through the sample `at` and its two neighbours; the sample itself at an end."""
    if not 0 < at < len(places) - 1:
        return float(places[at])
    (a, b, c), (fa, fb, fc) = places[at - 1 : at + 2], values[at - 1 : at + 2]
    below = (b - a) * (fb - fc) - (b - c) * (fb - fa)
    if below == 0:
        return float(b)
    lowest = b - 0.5 * ((b - a) ** 2 * (fb - fc) - (b - c) ** 2 * (fb - fa)) / below
    return float(np.clip(lowest, a, c))


def _columns(values: np.ndarray) -> np.ndarray:
    return values[:, None] if values.ndim == 1 else values


def _shifted(pair: tuple[np.ndarray, np.ndarray], shift: int) -> tuple[np.ndarray, np.ndarray]:
    """(reference, follower) rows that belong together if the follower is `shift` rows late."""
    reference, follower = pair
    common = max(len(follower) - abs(shift), 0)  # none, if a recording is shorter than the delay that is tried
    if shift >= 0:
        return reference[:common], follower[shift:]
    return reference[-shift:], follower[:common]


def _same_scale(pairs: SignalPairs, shift: int) -> tuple[float, float, float, float] | None:
    differences = []
    for pair in pairs:
        reference, follower = _shifted(pair, shift)
        if len(follower) >= MIN_ROWS:
            difference = follower - reference
            # An offset is not a delay.
            differences.append(difference - _medians(difference))
    if not differences:
        return None
    squares = np.square(np.concatenate(differences))
    mean = float(np.add.reduce(squares, axis=None)) / squares.size  # `nanmean` takes five times as long
    if math.isnan(mean):
        mean = float(np.nanmean(squares))
    return (mean, 1.0, np.nan, math.sqrt(mean)) if math.isfinite(mean) else None


def _medians(values: np.ndarray) -> np.ndarray:
    """(columns,) medians of the rows that are known. The functions of NumPy take several times as long."""
    if not np.isfinite(values).all():
        return np.nanmedian(values, axis=0)
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high), axis=0)
    return ordered[low] if low == high else (ordered[low] + ordered[high]) / 2


def _best_line(pairs: SignalPairs, shift: int) -> tuple[float, float, float, float] | None:
    shifted = [_shifted(pair, shift) for pair in pairs]
    if not shifted:
        return None
    x, y = (_joined([pair[side].ravel() for pair in shifted]) for side in (0, 1))
    slope, correlation, _, spread = _line(x, y)
    if correlation == 0:
        return None
    return 1 - correlation**2, slope, correlation, spread * math.sqrt(max(1 - correlation**2, 0))


def _promising(pairs: SignalPairs, shifts: Sequence[int]) -> Sequence[int]:
    """The shifts that may have the highest correlation, and their neighbours; all shifts if the scan is not accurate.

    The scan takes the time of six `_best_line`. It is for single signals without gaps.
    """
    if (
        len(pairs) != 1
        or len(shifts) < MIN_SCANNED
        or pairs[0][0].shape != pairs[0][1].shape
        or pairs[0][0].shape[1] != 1
    ):
        return shifts
    x, y = (side[:, 0] for side in pairs[0])
    rows = len(x)
    at = np.array(shifts)
    counts = rows - np.abs(at)
    if not max(MIN_ROWS, 2 * int(np.abs(at).max())) <= rows <= MAX_ROWS or int(counts.min()) < MIN_ROWS:
        return shifts
    x, y = x - np.add.reduce(x) / rows, y - np.add.reduce(y) / rows
    before, after = max(-int(at.min()), 0), max(int(at.max()), 0)
    products = np.correlate(np.concatenate([np.zeros(before), y, np.zeros(after)]), x, "valid")[at + before]
    starts = np.maximum(-at, 0), np.maximum(at, 0)
    (x_sum, xx), (y_sum, yy) = (_sums(*pair, counts) for pair in zip((x, y), starts, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.minimum(xx / np.add.reduce(x * x), yy / np.add.reduce(y * y))
        squared = np.square(products - x_sum * y_sum / counts) / (xx * yy)
    # False also for NaN, which signals with gaps and constant signals have.
    if not (shares > SCANNED_VARIANCE).all() or not (squared > SCAN_ERROR).all():
        return shifts
    good = np.flatnonzero(squared > squared.max() - 2 * SCAN_ERROR)
    near = np.unique(np.clip(good[:, None] + np.arange(-1, 2), 0, len(at) - 1))
    return [shifts[place] for place in near]


def _sums(values: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of stretches of a signal, and of their squares around their means."""
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values, values * values))
    total = sums[starts + counts] - sums[starts]
    return total, squares[starts + counts] - squares[starts] - total * total / counts


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def fit_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Slope, correlation and intercept of y over x, where both are finite; zeros where nothing varies."""
    return _line(x, y)[:3]


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float, float]:
    """The results of `fit_line`, and the standard deviation of y."""
    # This runs thousands of times per recording: the functions of NumPy without their checks of arguments.
    known = np.isfinite(x) & np.isfinite(y)
    if not np.logical_and.reduce(known):
        x, y = x[known], y[known]
    count = len(x)
    if count < MIN_ROWS:
        return 0.0, 0.0, 0.0, 0.0
    x_mean, y_mean = float(np.add.reduce(x)) / count, float(np.add.reduce(y)) / count
    x, y = x - x_mean, y - y_mean
    # einsum, because the dot product of BLAS starts threads for long signals, which costs more than it gains.
    xx, yy, xy = float(np.einsum("i,i->", x, x)), float(np.einsum("i,i->", y, y)), float(np.einsum("i,i->", x, y))
    if min(xx, yy) < 1e-24 * count:
        return 0.0, 0.0, 0.0, 0.0
    slope = xy / xx
    return slope, xy / (math.sqrt(xx) * math.sqrt(yy)), y_mean - slope * x_mean, math.sqrt(yy / count)

"""Fits the camera rows so that the features of the twin's frames equal those of real frames, with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import TAIL, IntervalEstimate
from twinloop.calibrate.visual.features import NOISE, features
from twinloop.errors import DatasetError

COLUMNS = (
    "exposure_ev", "white_balance_shift.red", "white_balance_shift.blue", "colour_saturation", "read_noise",
    "shot_noise", "defocus_px",
)  # fmt: skip
"""Fitted columns: one for each feature, in the order of the features."""

Develop = Callable[[dict[str, float]], Sequence[np.ndarray]]
"""Maps values of the columns to runs of the twin's frames: one run per scene, always of the same scenes."""

ROUNDS = 12
PROGRESS = 0.98
REPEATS = 400
STEPS = np.array([0.1, 0.03, 0.03, 0.05, 0.2, 0.002, 0.1])
_FINEST = np.array([0.01, 0.004, 0.004, 0.01, 0.02, 2e-6, 0.01])
"""Smallest standard error of each feature: estimators and image pipelines are not more accurate than this."""
LOW = np.array([-4.0, -1.2, -1.2, -1.5, 0.0, 0.0, 0.0])
HIGH = np.array([4.0, 1.0, 1.0, 1.3, 30.0, 0.3, 4.0])


@dataclass(frozen=True)
class Match:
    """Result of a fit.

    Attributes:
        fitted: column -> value with its interval.
        ranges: column -> range that also covers how real frames differ from each other.
        unknown: column -> why it is not determined.
        real, before, after: features of real frames and of the twin before and after the fit, averaged over runs, in
            the order of `features.NAMES`.
    """

    fitted: dict[str, IntervalEstimate]
    ranges: dict[str, tuple[float, float]]
    unknown: dict[str, str]
    real: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def values(self) -> dict[str, float]:
        return {column: estimate.value for column, estimate in self.fitted.items()}


def match(real: Sequence[np.ndarray], develop: Develop, *, rng: np.random.Generator) -> Match:
    """Fit the columns to `real`, runs of (f, h, w, 3) frames."""
    seen = np.stack([features(run) for run in real])
    nominal = features_of(_nominal(), develop)
    determined, unknown = _determined(seen, nominal)
    target = middle(seen)
    place = _start(target, middle(nominal), determined)
    twin_features = features_of(place, develop)
    weight = _weight(seen, twin_features, determined, rng)
    place, twin_features, slope = descend(place, twin_features, target, weight, develop, determined)
    weight = _weight(seen, twin_features, determined, rng)
    fitted, ranges = _intervals(place, seen, twin_features, slope, weight, determined)
    return Match(fitted, ranges, unknown, target, middle(nominal), middle(twin_features))


def descend(
    place: np.ndarray,
    twin_features: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    develop: Develop,
    determined: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levenberg-Marquardt: the place whose features are nearest to `target`, its features and their Jacobian.

    SciPy's `least_squares` (trf) on whitened features needs more renderings and stops further away
    (benchmarks/least_squares.py): for four hidden cameras, 302 renderings and 25 of 28 hidden values recovered, against
    199 and 27 here.
    """
    cost, slope, damping = _cost(target, twin_features, weight), np.eye(len(place)), 0.01
    fresh = False
    for _ in range(ROUNDS):
        if not fresh:
            slope, fresh = slope_at(place, twin_features, develop, determined), True
        candidate = np.clip(place + _step(target, twin_features, slope, weight, determined, damping), LOW, HIGH)
        after = features_of(candidate, develop)
        reached = _cost(target, after, weight)
        if reached < cost:
            done = reached > PROGRESS * cost
            place, twin_features, cost, damping, fresh = candidate, after, reached, damping / 5, False
            if done:
                break
        else:
            damping = max(10 * damping, 1e-3)
    return place, twin_features, slope if fresh else slope_at(place, twin_features, develop, determined)


def _weight(
    seen: np.ndarray, twin_features: np.ndarray, determined: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(features, features) weights: the inverse covariance of the differences between real and twin features.

    The covariance is a bootstrap over real runs and twin scenes. It includes the correlation of read and shot noise.
    """
    again = []
    for _ in range(REPEATS):
        of_real = middle(seen[rng.integers(len(seen), size=len(seen))])
        of_twin = middle(twin_features[rng.integers(len(twin_features), size=len(twin_features))])
        again.append(np.nan_to_num(of_real - of_twin))
    chance = np.cov(np.array(again).T) + np.diag(_FINEST**2)
    weight = np.zeros_like(chance)
    weight[np.ix_(determined, determined)] = np.linalg.inv(chance[np.ix_(determined, determined)])
    return weight


def _cost(target: np.ndarray, twin_features: np.ndarray, weight: np.ndarray) -> float:
    off = np.nan_to_num(target - middle(twin_features))
    return float(off @ weight @ off)


def _step(
    target: np.ndarray,
    twin_features: np.ndarray,
    slope: np.ndarray,
    weight: np.ndarray,
    determined: np.ndarray,
    damping: float,
) -> np.ndarray:
    """A Levenberg-Marquardt step."""
    off = np.nan_to_num(target - middle(twin_features))
    curve = (slope.T @ weight @ slope)[np.ix_(determined, determined)]
    pull = (slope.T @ weight @ off)[determined]
    move = np.zeros(len(off))
    move[determined] = np.linalg.solve(curve + damping * np.diag(np.diag(curve) + 1e-12), pull)
    return np.clip(move, -20 * STEPS, 20 * STEPS)


def _nominal() -> np.ndarray:
    return np.zeros(len(COLUMNS))


def _values(place: np.ndarray) -> dict[str, float]:
    """Column values of a place. Gains are searched by their logarithm, so that they stay positive."""
    ev, red, blue, colour, read, shot, spread = map(float, place)
    return dict(zip(COLUMNS, (ev, np.expm1(red), np.expm1(blue), np.exp(colour), read, shot, spread), strict=True))


def features_of(place: np.ndarray, develop: Develop) -> np.ndarray:
    """(runs, features) of the twin's frames at a place."""
    return np.stack([features(run) for run in develop(_values(place))])


def middle(rows: np.ndarray) -> np.ndarray:
    """Mean of each feature over runs; the median for noise, because motion in a run may look like strong noise."""
    means = np.full(rows.shape[1], np.nan)
    for column in np.flatnonzero(np.isfinite(rows).any(axis=0)):
        of = np.nanmedian if column in NOISE else np.nanmean
        means[column] = of(rows[:, column])
    return means


def _determined(seen: np.ndarray, nominal: np.ndarray) -> tuple[np.ndarray, dict[str, str]]:
    """Which columns the frames determine, and why they do not determine the others."""
    determined, unknown = np.ones(len(COLUMNS), bool), {}
    for place, column in enumerate(COLUMNS):
        if np.isfinite(seen[:, place]).sum() >= 2 and np.isfinite(nominal[:, place]).any():
            continue
        determined[place] = False
        unknown[column] = (
            "the whole image moves between frames, so noise cannot be distinguished from motion"
            if place in NOISE
            else "no strong edges are visible"
        )
    if not determined[:4].all():
        raise DatasetError("too few frames: at least two runs of images are needed")
    return determined, unknown


def _start(target: np.ndarray, nominal: np.ndarray, determined: np.ndarray) -> np.ndarray:
    off = np.nan_to_num(target - nominal)
    place = np.array([off[0], off[1], off[2], off[3], 0.5, 0.003, 0.4])
    if determined[4]:
        place[4], place[5] = np.sqrt(max(target[4], 0.05)), np.sqrt(max(target[5], 1e-6))
    place[~determined] = 0.0
    return np.clip(place, LOW, HIGH)


def slope_at(place: np.ndarray, twin_features: np.ndarray, develop: Develop, determined: np.ndarray) -> np.ndarray:
    """(features, columns) Jacobian by finite differences, on the same scenes with the same noise."""
    slope = np.eye(len(place))
    for column in np.flatnonzero(determined):
        moved = place.copy()
        step = STEPS[column] if place[column] + STEPS[column] <= HIGH[column] else -STEPS[column]
        moved[column] += step
        slope[:, column] = np.nan_to_num(middle(features_of(moved, develop)) - middle(twin_features)) / step
    return slope


def _intervals(
    place: np.ndarray,
    seen: np.ndarray,
    twin_features: np.ndarray,
    slope: np.ndarray,
    weight: np.ndarray,
    determined: np.ndarray,
) -> tuple[dict[str, IntervalEstimate], dict[str, tuple[float, float]]]:
    """(intervals of the values, ranges of the columns).

    An interval covers the statistical error and is clipped to the bounds. A range also covers the variance among real
    runs that exceeds the variance among the twin's scenes.
    """
    curve = slope.T @ weight @ slope + np.diag(12 / (HIGH - LOW) ** 2)
    covariance = np.zeros_like(curve)
    covariance[np.ix_(determined, determined)] = np.linalg.inv(curve[np.ix_(determined, determined)])
    error = np.sqrt(np.diag(covariance))
    back = covariance @ slope.T @ weight
    width = np.sqrt(np.maximum(_spread(seen, back) - _spread(twin_features, back), 0) + error**2)
    fitted, ranges = {}, {}
    for number in np.flatnonzero(determined):
        ends = [place + sign * TAIL * size for size in (error, width) for sign in (-1, 1)]
        value, low, high, least, most = (_values(np.clip(end, LOW, HIGH))[COLUMNS[number]] for end in (place, *ends))
        fitted[COLUMNS[number]] = IntervalEstimate(value, low, high)
        ranges[COLUMNS[number]] = least, most
    return fitted, ranges


def _spread(rows: np.ndarray, back: np.ndarray) -> np.ndarray:
    """Variance among runs, converted from features to columns. Outliers of the noise features are clipped."""
    centred = np.nan_to_num(rows - middle(rows))
    for column in NOISE:
        limit = 3 * 1.4826 * np.median(np.abs(centred[:, column]))
        centred[:, column] = np.clip(centred[:, column], -limit, limit)
    return np.square(centred @ back.T).sum(axis=0) / max(len(rows) - 1, 1)

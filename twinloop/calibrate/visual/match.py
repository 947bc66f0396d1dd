"""The rows at which the twin's frames look to the same estimators as the real ones do, and how sure that is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import Estimate
from twinloop.calibrate.visual.features import NOISE, features
from twinloop.errors import DatasetError

COLUMNS = (
    "exposure_ev", "white_balance_shift.red", "white_balance_shift.blue", "colour_saturation", "read_noise",
    "shot_noise", "defocus_px",
)  # fmt: skip
"""One for each feature, in their order."""

Develop = Callable[[dict[str, float]], Sequence[np.ndarray]]
"""Values of the columns -> runs of the twin's frames, one a drawn scene, always of the same scenes."""

ROUNDS = 7
REPEATS = 400
_STEPS = np.array([0.1, 0.03, 0.03, 0.05, 0.2, 0.002, 0.1])
_LOW = np.array([-4.0, -1.2, -1.2, -1.5, 0.0, 0.0, 0.0])
_HIGH = np.array([4.0, 1.0, 1.0, 1.3, 30.0, 0.3, 4.0])


@dataclass(frozen=True)
class Match:
    """`found`: column -> value with the interval of that value. `ranges`: column -> what frames differ by besides.
    `unknown`: column -> why it is not told. Features are means, in the order of `features.NAMES`."""

    found: dict[str, Estimate]
    ranges: dict[str, tuple[float, float]]
    unknown: dict[str, str]
    real: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def values(self) -> dict[str, float]:
        return {column: each.value for column, each in self.found.items()}


def match(real: Sequence[np.ndarray], develop: Develop, *, rng: np.random.Generator) -> Match:
    """`real`: runs of frames, (f, h, w, 3) each."""
    seen = np.stack([features(run) for run in real])
    nominal = _features(develop(_values(_nominal())))
    told, unknown = _told(seen, nominal)
    target = _middle(seen)
    place = _start(target, _middle(nominal), told)
    shown = _features(develop(_values(place)))
    best, best_shown = place, shown
    slope = np.eye(len(place))
    for turn in range(ROUNDS):
        # The slope hardly changes: it is measured twice.
        if turn in (0, 3):
            slope = _slope(place, shown, develop, told)
        off = (target - _middle(shown))[told]
        move = np.zeros(len(place))
        move[told] = np.linalg.lstsq(slope[np.ix_(told, told)], off, rcond=None)[0]
        place = np.clip(place + np.clip(move, -20 * _STEPS, 20 * _STEPS), _LOW, _HIGH)
        shown = _features(develop(_values(place)))
        if _off(target, shown, slope, told) < _off(target, best_shown, slope, told):
            best, best_shown = place, shown
    slope = _slope(best, best_shown, develop, told)
    found, ranges = _intervals(best, seen, best_shown, slope, told, rng)
    return Match(found, ranges, unknown, target, _middle(nominal), _middle(best_shown))


def _nominal() -> np.ndarray:
    return np.zeros(len(COLUMNS))


def _values(place: np.ndarray) -> dict[str, float]:
    """Gains are searched by their logarithm, so that no step makes one negative."""
    ev, red, blue, colour, read, shot, spread = map(float, place)
    return dict(zip(COLUMNS, (ev, np.expm1(red), np.expm1(blue), np.exp(colour), read, shot, spread), strict=True))


def _features(runs: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack([features(run) for run in runs])


def _middle(rows: np.ndarray) -> np.ndarray:
    """Over runs. Of noise the median: a run in which all moves may pass for one that is very noisy."""
    middle = np.full(rows.shape[1], np.nan)
    for column in np.flatnonzero(np.isfinite(rows).any(axis=0)):
        of = np.nanmedian if column in NOISE else np.nanmean
        middle[column] = of(rows[:, column])
    return middle


def _told(seen: np.ndarray, nominal: np.ndarray) -> tuple[np.ndarray, dict[str, str]]:
    """Which columns the frames tell, and why not the others."""
    told, unknown = np.ones(len(COLUMNS), bool), {}
    for place, column in enumerate(COLUMNS):
        if np.isfinite(seen[:, place]).sum() >= 2 and np.isfinite(nominal[:, place]).any():
            continue
        told[place] = False
        unknown[column] = (
            "nothing stands still from one frame to the next, so noise cannot be told from motion"
            if place in NOISE
            else "no strong edges are in view"
        )
    if not told[:4].all():
        raise DatasetError("the frames are too few: two runs of pictures are needed at least")
    return told, unknown


def _start(target: np.ndarray, nominal: np.ndarray, told: np.ndarray) -> np.ndarray:
    off = np.nan_to_num(target - nominal)
    place = np.array([off[0], off[1], off[2], off[3], 0.5, 0.003, 0.4])
    if told[4]:
        place[4], place[5] = np.sqrt(max(target[4], 0.05)), np.sqrt(max(target[5], 1e-6))
    place[~told] = 0.0
    return np.clip(place, _LOW, _HIGH)


def _slope(place: np.ndarray, shown: np.ndarray, develop: Develop, told: np.ndarray) -> np.ndarray:
    """(features, columns) by differences, of the same scenes with the same noise."""
    slope = np.eye(len(place))
    for column in np.flatnonzero(told):
        moved = place.copy()
        step = _STEPS[column] if place[column] + _STEPS[column] <= _HIGH[column] else -_STEPS[column]
        moved[column] += step
        slope[:, column] = np.nan_to_num(_middle(_features(develop(_values(moved)))) - _middle(shown)) / step
    return slope


def _off(target: np.ndarray, shown: np.ndarray, slope: np.ndarray, told: np.ndarray) -> float:
    """How far from the target, in steps of the columns."""
    off = (target - _middle(shown))[told]
    return float(np.linalg.norm(np.linalg.lstsq(slope[np.ix_(told, told)], off, rcond=None)[0] / _STEPS[told]))


def _intervals(
    place: np.ndarray, seen: np.ndarray, shown: np.ndarray, slope: np.ndarray, told: np.ndarray,
    rng: np.random.Generator,
) -> tuple[dict[str, Estimate], dict[str, tuple[float, float]]]:  # fmt: skip
    """Of the value: other frames and other scenes, drawn anew from those there are. Of the range: by how much more the
    camera's frames differ among themselves than scenes do, on top."""
    back = np.zeros((len(place), len(place)))
    back[np.ix_(told, told)] = np.linalg.pinv(slope[np.ix_(told, told)])
    again = []
    for _ in range(REPEATS):
        of_real = _middle(seen[rng.integers(len(seen), size=len(seen))])
        of_twin = _middle(shown[rng.integers(len(shown), size=len(shown))])
        again.append(back @ np.nan_to_num(of_real - of_twin))
    error = np.std(again, axis=0)
    vary = _spread(seen, back) - _spread(shown, back)
    width = np.sqrt(np.maximum(vary, 0) + error**2)
    found, ranges = {}, {}
    for number in np.flatnonzero(told):
        ends = [place + sign * 1.645 * size for size in (error, width) for sign in (-1, 1)]
        value, low, high, least, most = (
            _values(np.clip(each, _LOW, _HIGH))[COLUMNS[number]] for each in (place, *ends)
        )
        found[COLUMNS[number]] = Estimate(value, low, high)
        ranges[COLUMNS[number]] = least, most
    return found, ranges


def _spread(rows: np.ndarray, back: np.ndarray) -> np.ndarray:
    """Variance among runs, as columns; of noise, without those that are far from all others."""
    centred = np.nan_to_num(rows - _middle(rows))
    for column in NOISE:
        limit = 3 * 1.4826 * np.median(np.abs(centred[:, column]))
        centred[:, column] = np.clip(centred[:, column], -limit, limit)
    return np.square(centred @ back.T).sum(axis=0) / max(len(rows) - 1, 1)

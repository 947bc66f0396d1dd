"""Small errors of all rows: every robot differs from its twin a little everywhere, and the differences add up.

One small error changes several traits at once: two milliseconds of delay change every trait of the joints. The
differences of these traits are one piece of evidence, not many. So are those of traits that vary together from episode
to episode. `shared_errors` is the covariance of both.
"""

import numpy as np

from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.summary import ENTRIES, TraitSummary

CURVED = 4
"""Place in the emulator's grid up to which the second slope of a curve is taken; two simulated sizes are below it."""
SAME_EPISODES = 0.8
"""Share of the measured correlation between traits that counts: few episodes of the twin show it."""
MAX_DEVIATION = 3.0  # in standard deviations: an episode in which the robot fell is not all of a correlation


def row_effects(emulator: Emulator, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """(rows, entries) root mean square change of the summary if a row is wrong by a size between 0 and `tolerance`.

    The effect of a small error is taken as proportional to its size, with the slope of the smallest simulated size. If
    the effect is a curve, the slope at 0 differs by half of what this slope and the next one differ.

    Returns:
        The changes, with the sign of the row's high side, and their errors.
    """
    rows: dict[tuple[str, str], list[int]] = {}
    for place, cause in enumerate(emulator.causes):
        if cause.side in ("low", "high") and not cause.worse:
            rows.setdefault((cause.row, cause.element), []).append(place)
    slopes = np.nan_to_num(emulator.changes[:, 1]) / emulator.sizes[:, 1:2]
    further = (
        np.nan_to_num(emulator.changes[:, CURVED] - emulator.changes[:, 1])
        / (emulator.sizes[:, CURVED] - emulator.sizes[:, 1])[:, None]
    )
    signs = np.array([-1.0 if cause.side == "low" else 1.0 for cause in emulator.causes])[:, None]
    effects = [_effect(slopes[places], signs[places]) for places in rows.values()]
    errors = [np.sqrt(np.square((further - slopes)[places] / 2).mean(axis=0)) for places in rows.values()]
    # The mean square of a size that is uniform from 0 to the tolerance is a third of its square.
    scale, shape = tolerance / np.sqrt(3), (-1, slopes.shape[1])
    return scale * np.array(effects).reshape(shape), scale * np.array(errors).reshape(shape)


def _effect(slopes: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """(entries,) root mean square slope of the sides of a row, with the sign of their mean."""
    direction = (slopes * signs).mean(axis=0)
    return np.where(direction < 0, -1.0, 1.0) * np.sqrt(np.square(slopes).mean(axis=0))


def small_errors(emulator: Emulator, tolerance: float) -> np.ndarray:
    """(entries,) root mean square change of the summary if every row is wrong by a size between 0 and `tolerance`.

    How far it is from proportional to the size is measured in the bank's cells with small errors, if it has some.
    """
    effects, errors = row_effects(emulator, tolerance)
    curved = np.square(errors).sum(axis=0)
    if emulator.small is not None:
        curved = np.square(emulator.small.shift) + np.square(emulator.small.scatter)
    return np.sqrt(np.square(effects).sum(axis=0) + curved)


def shared_errors(emulator: Emulator, log: TraitSummary, tolerance: float) -> np.ndarray:
    """(entries, entries) covariance of the summary's differences, by small errors of rows and by the same episodes.

    What small errors of all rows change on average beyond their slopes is one direction: a robot that is exactly the
    twin has none of it, and a usual robot has all of it.
    """
    effects, _ = row_effects(emulator, tolerance)
    shift = np.zeros(effects.shape[1]) if emulator.small is None else emulator.small.shift
    sampling = np.sqrt(np.nan_to_num(log.variances + emulator.reference.variances))
    by_episodes = SAME_EPISODES * correlation(emulator.episodes) * np.outer(sampling, sampling)
    return effects.T @ effects + np.outer(shift, shift) + by_episodes


def correlation(traits: np.ndarray) -> np.ndarray:
    """(entries, entries) correlation of (episodes, traits) between episodes; that of spreads is 0 with all others."""
    columns = np.zeros((len(traits), len(ENTRIES)))
    for place, entry in enumerate(ENTRIES):
        values = entry.about.scaled(traits[:, entry.trait])
        known = np.isfinite(values)
        if entry.spread or known.sum() < 2:
            continue
        middle = np.median(values[known])
        width = 1.4826 * np.median(np.abs(values[known] - middle))
        if width > 1e-12:
            columns[known, place] = np.clip((values[known] - middle) / width, -MAX_DEVIATION, MAX_DEVIATION)
    columns -= columns.mean(axis=0)
    columns /= np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
    return columns.T @ columns

"""Emulator: predicts the summary of a cell for any causes and sizes, by interpolation between the cells of a bank.

The change that a cause makes to the summary is interpolated between the simulated sizes: linear in the row's value and
in the unit of the trait, because the noise of a reading is proportional to the row's value, and its logarithm is not.
Changes of several causes are added in the unit of the trait too, and their success rates are multiplied. Errors are
measured:

- of the interpolation, by predicting each simulated size from its neighbours;
- of the simulated cells, from the variation between their scenes;
- of the sums, in the bank's cells with several causes: `bend` is the error of each entry as a share of the predicted
  change, `concentration` the precision of the predicted success. Changes that are no evidence do not count.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.causes import Cause
from twinloop.diagnose.covariates import Adjustment, adjustment_of
from twinloop.diagnose.summary import ENTRIES, LOGARITHMIC, RESOLUTIONS, SUCCESS, TraitSummary, summarise
from twinloop.randomize.parameter import Gap

GRID = 12
"""Number of sizes of each cause in an explanation."""
SMALL = 0.1
"""A difference below this share of what usual errors of rows change on average is no evidence."""
MIN_BEND, MAX_BEND = 0.1, 0.3
"""Bounds of the error of a sum. Larger shares come from changes that are small."""
PRIOR_RATIOS = 3.0
"""Weight of the error of all entries in the error of one, in cells with several causes."""
USUAL_BEND = 0.2  # without cells that have several causes
MIN_SHARE = 0.2
"""A logarithmic entry is extrapolated to this share of its smallest simulated value at most."""
MAX_LOG = 20.0
DEVIATION = 1.4826  # standard deviation of a normal distribution, as a multiple of the median absolute value
MIN_CONCENTRATION, MAX_CONCENTRATION = 6.0, 60.0


@dataclass(frozen=True)
class SmallErrorMiss:
    """Error of the prediction for cells in which every row is a little wrong.

    Effects of small errors are interpolated between 0 and the smallest simulated size, but some traits are steep at 0:
    the first bit of friction or delay changes the shaking of a robot more than the next.

    Attributes:
        shift: (entries,) mean error.
        scatter: (entries,) standard deviation around it.
    """

    shift: np.ndarray
    scatter: np.ndarray


@dataclass(frozen=True)
class Emulator:
    """Predicted changes of the summary.

    Attributes:
        causes: C causes.
        sizes: (C, 1 + GRID) sizes; the first is 0.
        changes: (C, 1 + GRID, entries) change of the summary from the unchanged twin.
        unknown: (C, 1 + GRID, entries) whether the change could not be measured, e.g. because nothing was grasped.
        error: (C, 1 + GRID, entries) variance of `changes`.
        success: (C, 1 + GRID) success rate as a share of the unchanged twin's.
        reference: summary of the unchanged twin.
        bend: (entries,) standard deviation of an effect from this prediction, as a share of it.
        concentration: of the beta distribution of success around its prediction.
        episodes: (episodes, traits) of the unchanged twin.
        cell_episodes: episodes of a cell with a cause.
        adjustment: how traits depend on what the robot is asked to do; None if nothing is known of it.
        small: error of the prediction if every row is a little wrong; None if the bank has no such cells.
    """

    causes: tuple[Cause, ...]
    sizes: np.ndarray
    changes: np.ndarray
    unknown: np.ndarray
    error: np.ndarray
    success: np.ndarray
    reference: TraitSummary
    bend: np.ndarray
    concentration: float
    episodes: np.ndarray
    cell_episodes: int
    adjustment: Adjustment | None = None
    small: SmallErrorMiss | None = None

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        return tuple(cause.gap for cause in self.causes)

    @cached_property
    def usual_success(self) -> float:
        episodes = self.reference.episodes
        return float((self.reference.values[SUCCESS] * episodes + 0.5) / (episodes + 1))

    @cached_property
    def typical(self) -> np.ndarray:
        """(entries,) mean absolute change over all causes at about the end of their sensible ranges."""
        return np.abs(self.changes[:, GRID // 4]).mean(axis=0)

    def adjusted(self, traits: np.ndarray) -> np.ndarray:
        """(episodes, traits) for the commands of the bank."""
        return traits if self.adjustment is None else self.adjustment.of(traits)

    def at(self, sizes: np.ndarray) -> tuple[np.ndarray, float]:
        """((entries,) change, success as a share of the unchanged twin's) for (C,) sizes."""
        total, success = np.zeros(len(ENTRIES)), 1.0
        for place in np.flatnonzero(sizes > 0):
            # The sizes of the grid are equidistant.
            steps = min(float(sizes[place] / self.sizes[place, 1]), float(GRID))
            below = min(int(steps), GRID - 1)
            share = steps - below
            change, rate = (
                (1 - share) * values[place, below] + share * values[place, below + 1]
                for values in (self.changes, self.success)
            )
            total += addends(change, LOGARITHMIC)
            success *= float(rate)
        return sum_of(total, LOGARITHMIC), success


def addends(changes: np.ndarray, logarithmic: np.ndarray) -> np.ndarray:
    """(..., entries) what changes of single causes add to a sum: relative increases of logarithmic entries."""
    return np.where(logarithmic, np.expm1(np.minimum(changes, MAX_LOG)), changes)


def sum_of(total: np.ndarray, logarithmic: np.ndarray | slice) -> np.ndarray:
    """(..., entries) change of the summary for a sum of `addends`. logarithmic: mask or slice of these entries."""
    change = total.copy()
    change[..., logarithmic] = np.log1p(np.maximum(total[..., logarithmic], MIN_SHARE - 1))
    return change


def emulator_of(bank: Bank) -> Emulator:
    """Fit the emulator to a bank."""
    adjustment = adjustment_of(bank.reference.traits)
    if adjustment is not None:
        bank = bank.with_traits(adjustment.of)
    reference = summarise(bank.reference.traits)
    tables = [_interpolated(bank, cause, reference) for cause in bank.causes]
    sizes, changes, unknown, error, success = (np.stack(parts) for parts in zip(*tables, strict=True))
    plain = Emulator(
        bank.causes, sizes, changes, unknown, error, success, reference, np.full(len(ENTRIES), MIN_BEND),
        MAX_CONCENTRATION, bank.reference.traits, len(bank.cells[0].traits), adjustment,
    )  # fmt: skip
    bend, concentration = _errors(bank, plain)
    return replace(plain, bend=bend, concentration=concentration, small=_small_misses(bank, plain))


def _interpolated(bank: Bank, cause: Cause, reference: TraitSummary) -> tuple[np.ndarray, ...]:
    """(sizes, changes, unknown, error, success) of a cause on its grid."""
    cells = bank.alone(cause)
    levels = np.array([0.0, *(size for size, _ in cells)])
    differences = [bank.difference(cell) for _, cell in cells]
    raw, noise = (np.stack([np.zeros(len(ENTRIES)), *(pair[part] for pair in differences)]) for part in (0, 1))
    missing = ~np.isfinite(raw)
    for row in range(1, len(raw)):
        raw[row] = np.where(missing[row], raw[row - 1], raw[row])
        noise[row] = np.where(np.isfinite(noise[row]), noise[row], noise[row - 1])
    success = np.array([1.0, *(_success_share(bank, cell) for _, cell in cells)])
    grid = np.linspace(0.0, cause.max_size, 1 + GRID)
    # Shares of episodes and spreads do not go on beyond the largest simulated size; other traits do.
    limited = np.array([entry.about.unit == "1" or entry.spread or cause.side == "share" for entry in ENTRIES])
    level = np.where(LOGARITHMIC, _exp(np.nan_to_num(reference.values)), 0.0)
    curve = _Curve(cause, levels, raw, level, limited)
    error = np.stack([np.interp(grid, levels, column) for column in noise.T], axis=1)
    error += np.square(_between(grid, levels)[:, None] * curve.misses)
    place = np.clip(np.searchsorted(levels, grid), 0, len(levels) - 1)
    return grid, curve.at(grid), missing[place], error, np.interp(grid, levels, success)


def _exp(values: np.ndarray) -> np.ndarray:
    """(..., entries) exponentials of logarithmic entries; 1 for others, whose values may be large."""
    return np.exp(np.where(LOGARITHMIC, values, 0.0))


class _Curve:
    """The change of the summary as a function of the size of one cause, through the simulated sizes.

    Args:
        levels, raw: (n,) simulated sizes from 0, and (n, entries) changes.
        level: (entries,) usual value of logarithmic entries in their unit.
        limited: (entries,) whether an entry stays as it is beyond the largest simulated size.
    """

    def __init__(self, cause: Cause, levels: np.ndarray, raw: np.ndarray, level: np.ndarray, limited: np.ndarray):
        self.cause, self.levels, self.level, self.limited = cause, levels, level, limited
        self.values = np.where(LOGARITHMIC, level * _exp(raw), raw)

    def at(self, sizes: np.ndarray, without: int | None = None) -> np.ndarray:
        """(sizes, entries) changes; `without` one of the simulated sizes."""
        kept = np.arange(len(self.levels)) != without
        ways, values = self._way(self.levels)[kept], self.values[kept]
        new = self._way(sizes)
        out = np.stack([np.interp(new, ways, column) for column in values.T], axis=1)
        if len(ways) > 1:
            slope = (values[-1] - values[-2]) / max(ways[-1] - ways[-2], 1e-9)
            out += np.maximum(new - ways[-1], 0.0)[:, None] * np.where(self.limited, 0.0, slope)
        floor = MIN_SHARE * values.min(axis=0)
        logs = np.log(np.maximum(out, np.maximum(floor, 1e-12))) - np.log(np.maximum(self.level, 1e-12))
        return np.where(LOGARITHMIC, logs, out)

    def _way(self, sizes: np.ndarray) -> np.ndarray:
        """How far the row is from its usual value; the size itself if the row has steps."""
        values = np.array([self.cause.value(float(size)) for size in sizes])
        ways = np.abs(values - self.cause.value(0.0))
        return ways if (np.diff(ways[np.argsort(sizes)]) > 0).all() and ways[0] == 0 else sizes

    @cached_property
    def misses(self) -> np.ndarray:
        """(entries,) error half-way between two simulated sizes.

        Each size is predicted from its neighbours. Their distance is twice that of simulated sizes, and the error of a
        linear interpolation grows with the square of the distance.
        """
        inner = range(1, len(self.levels) - 1)
        errors = [self.at(self.levels, without=place)[place] - self.at(self.levels)[place] for place in inner]
        return np.sqrt(np.mean(np.square(errors), axis=0)) / 4 if errors else np.zeros(len(ENTRIES))


def _between(grid: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """(grid,) 0 at a simulated size, 1 half-way between two; beyond the largest, in multiples of the last step."""
    above = np.clip(np.searchsorted(levels, grid), 1, len(levels) - 1)
    share = (grid - levels[above - 1]) / np.maximum(levels[above] - levels[above - 1], 1e-9)
    return np.where(share <= 1, 4 * share * (1 - share), 4 * (share - 1))


def _success_share(bank: Bank, cell: CounterfactualCell) -> float:
    usual = CounterfactualCell(cell.hypothesis, bank.paired(cell)).success
    episodes = len(cell.traits)
    # Half an episode keeps the share above 0; a cell without any effect has exactly 1.
    return min((cell.success * episodes + 0.5) / (usual * episodes + 0.5), 1.0)


def _errors(bank: Bank, emulator: Emulator) -> tuple[np.ndarray, float]:
    """(bend, concentration), from the cells with several causes."""
    place = {cause.name: index for index, cause in enumerate(bank.causes)}
    noise = np.sqrt(emulator.reference.variances + np.square(RESOLUTIONS) + np.square(SMALL * emulator.typical))
    ratios: list[np.ndarray] = []
    errors = []
    for cell in bank.together:
        sizes = np.zeros(len(bank.causes))
        for name, size in cell.hypothesis.sizes.items():
            sizes[place[name]] = size
        predicted, share = emulator.at(sizes)
        actual, _ = bank.difference(cell)
        clear = np.isfinite(actual) & (np.abs(predicted) > 2 * noise)
        ratios.append(np.where(clear, np.abs(actual - predicted) / np.maximum(np.abs(predicted), 1e-12), np.nan))
        expected = min(max(emulator.usual_success * share, 0.02), 0.98)
        errors.append((cell.success - expected) ** 2 / (expected * (1 - expected)))
    # The cells' own sampling variance is part of the errors.
    episodes = len(bank.together[0].traits) if bank.together else 16
    variance = max(float(np.mean(errors)) - 1 / episodes, 0.0) if errors else 0.1
    concentration = 1 / variance - 1 if variance > 0 else MAX_CONCENTRATION
    return _bends(np.array(ratios)), float(np.clip(concentration, MIN_CONCENTRATION, MAX_CONCENTRATION))


def _small_misses(bank: Bank, emulator: Emulator) -> SmallErrorMiss | None:
    """The error of the prediction in cells with small errors of all rows, without their sampling variance."""
    misses, variances = [], []
    for cell in bank.nearly_unchanged:
        sizes = np.array([cell.hypothesis.sizes.get(cause.name, 0.0) for cause in bank.causes])
        actual, variance = bank.difference(cell)
        known = np.isfinite(actual) & np.isfinite(variance)
        misses.append(np.where(known, actual - emulator.at(sizes)[0], 0.0))
        variances.append(np.where(known, variance, 0.0))
    if len(misses) < 2:
        return None
    scatter = np.var(misses, axis=0, ddof=1) - np.mean(variances, axis=0)
    return SmallErrorMiss(np.mean(misses, axis=0), np.sqrt(np.maximum(scatter, 0.0)))


def _bends(ratios: np.ndarray) -> np.ndarray:
    """(entries,) typical of (cells, entries) relative errors, NaN where a change is no evidence.

    Few cells have several causes, so the errors of all entries count as some further cells of each.
    """
    known = np.isfinite(ratios)
    if not known.any():
        return np.full(len(ENTRIES), USUAL_BEND)
    usual, counts = float(np.median(ratios[known])), known.sum(axis=0)
    own = np.array(
        [np.median(column[seen]) if seen.any() else usual for column, seen in zip(ratios.T, known.T, strict=True)]
    )
    bends = DEVIATION * (counts * own + PRIOR_RATIOS * usual) / (counts + PRIOR_RATIOS)
    return np.clip(bends, MIN_BEND, MAX_BEND)

"""Emulator: predicts the summary of a cell for any causes and sizes, by interpolation between the cells of a bank.

The change that a cause makes to the summary is interpolated between the simulated sizes. Changes of several causes are
added, and their success rates are multiplied. How well that holds is measured in the bank's cells with several causes:
`bend` is the error as a share of the predicted change, `concentration` the precision of the predicted success.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.causes import Cause
from twinloop.diagnose.summary import ENTRIES, SUCCESS, TraitSummary, paired_change, summarise
from twinloop.randomize.parameter import Gap

GRID = 12
"""Number of sizes of each cause in an explanation."""
MIN_BEND = 0.1
MIN_CONCENTRATION, MAX_CONCENTRATION = 6.0, 60.0


@dataclass(frozen=True)
class Emulator:
    """Predicted changes of the summary.

    Attributes:
        causes: C causes.
        sizes: (C, 1 + GRID) sizes; the first is 0.
        changes: (C, 1 + GRID, entries) change of the summary from the unchanged twin.
        unknown: (C, 1 + GRID, entries) whether the change could not be measured, e.g. because nothing was grasped.
        success: (C, 1 + GRID) success rate as a share of the unchanged twin's.
        reference: summary of the unchanged twin.
        bend: standard deviation of an effect from this prediction, as a share of it.
        concentration: of the beta distribution of success around its prediction.
    """

    causes: tuple[Cause, ...]
    sizes: np.ndarray
    changes: np.ndarray
    unknown: np.ndarray
    success: np.ndarray
    reference: TraitSummary
    bend: float
    concentration: float

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

    def at(self, sizes: np.ndarray) -> tuple[np.ndarray, float]:
        """((entries,) change, success as a share of the unchanged twin's) for (C,) sizes."""
        change, success = np.zeros(len(ENTRIES)), 1.0
        for place in np.flatnonzero(sizes > 0):
            grid = self.sizes[place]
            change += np.array([np.interp(sizes[place], grid, column) for column in self.changes[place].T])
            success *= float(np.interp(sizes[place], grid, self.success[place]))
        return change, success


def emulator_of(bank: Bank) -> Emulator:
    """Fit the emulator to a bank."""
    tables = [_interpolated(bank, cause) for cause in bank.causes]
    sizes, changes, unknown, success = (np.stack(parts) for parts in zip(*tables, strict=True))
    plain = Emulator(
        bank.causes, sizes, changes, unknown, success, summarise(bank.reference.traits), MIN_BEND, MAX_CONCENTRATION
    )
    bend, concentration = _errors(bank, plain)
    return Emulator(bank.causes, sizes, changes, unknown, success, plain.reference, bend, concentration)


def _interpolated(bank: Bank, cause: Cause) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    cells = bank.alone(cause)
    levels = np.array([0.0, *(size for size, _ in cells)])
    raw = np.stack([np.zeros(len(ENTRIES)), *(paired_change(cell.traits, bank.paired(cell)) for _, cell in cells)])
    missing = ~np.isfinite(raw)
    for row in range(1, len(raw)):
        raw[row] = np.where(missing[row], raw[row - 1], raw[row])
    success = np.array([1.0, *(_success_share(bank, cell) for _, cell in cells)])
    grid = np.linspace(0.0, cause.max_size, 1 + GRID)
    changes = np.stack([np.interp(grid, levels, column) for column in raw.T], axis=1)
    if cause.side != "share" and len(levels) > 1:
        # Beyond the largest simulated size, traits go on along the last segment; success and shares do not.
        slope = (raw[-1] - raw[-2]) / max(levels[-1] - levels[-2], 1e-9)
        shares = np.array([entry.about.unit == "1" or entry.spread for entry in ENTRIES])
        beyond = np.maximum(grid - levels[-1], 0.0)
        changes += beyond[:, None] * np.where(shares, 0.0, slope)
    place = np.clip(np.searchsorted(levels, grid), 0, len(levels) - 1)
    return grid, changes, missing[place], np.interp(grid, levels, success)


def _success_share(bank: Bank, cell: CounterfactualCell) -> float:
    usual = CounterfactualCell(cell.hypothesis, bank.paired(cell)).success
    episodes = len(cell.traits)
    # Half an episode keeps the share above 0; a cell without any effect has exactly 1.
    return min((cell.success * episodes + 0.5) / (usual * episodes + 0.5), 1.0)


def _errors(bank: Bank, emulator: Emulator) -> tuple[float, float]:
    """(bend, concentration), from the cells with several causes."""
    place = {cause.name: index for index, cause in enumerate(bank.causes)}
    noise = np.sqrt(emulator.reference.variances)
    ratios, errors = [], []
    for cell in bank.together:
        sizes = np.zeros(len(bank.causes))
        for name, size in cell.hypothesis.sizes.items():
            sizes[place[name]] = size
        predicted, share = emulator.at(sizes)
        actual = paired_change(cell.traits, bank.paired(cell))
        clear = np.isfinite(actual) & (np.abs(predicted) > 2 * noise)
        ratios += (np.abs(actual - predicted)[clear] / np.abs(predicted)[clear]).tolist()
        expected = min(max(emulator.usual_success * share, 0.02), 0.98)
        errors.append((cell.success - expected) ** 2 / (expected * (1 - expected)))
    bend = float(np.median(ratios)) if ratios else 0.2
    # The cells' own sampling variance is part of the errors.
    episodes = len(bank.together[0].traits) if bank.together else 16
    variance = max(float(np.mean(errors)) - 1 / episodes, 0.0) if errors else 0.1
    concentration = 1 / variance - 1 if variance > 0 else MAX_CONCENTRATION
    return max(bend, MIN_BEND), float(np.clip(concentration, MIN_CONCENTRATION, MAX_CONCENTRATION))

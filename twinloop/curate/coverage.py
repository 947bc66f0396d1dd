"""Coverage: how evenly a run's draws fill the parameter space.

There are two measures. Discrepancy is about the whole space: whether all boxes contain their share of the draws. The
pair grid shows holes: combinations of two parameters that were never drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

BLOCK_ROWS = 512
BLOCKS = 4
"""Discrepancy is quadratic in the number of rows, so it is the mean over a few blocks of consecutive rows. They are
consecutive because every 4th point of a Sobol sequence lies in one half of the space: a strided sample of a perfectly
even run is 24 times worse than random draws."""

CACHED_ROWS = 32
"""Rows of the matrix of pairs that are computed at once, so that they stay in the CPU cache."""

CELL_ROWS = 4  # expected in a cell of the pair grid; independent draws leave 2 % of such cells empty
MOST_CELLS = 20  # per side; holes smaller than a twentieth of a range do not matter
FEW_VALUES = 16  # a column with fewer distinct values is a choice and does not fill the space
WIDE_RATIO = 30.0  # a positive range with this ratio of its ends or more may be logarithmic


@dataclass(frozen=True)
class PairGrid:
    """How often each combination of two parameters was drawn.

    Attributes:
        counts: (cells of first, cells of second).
        edges: ends of these cells, in the parameters' own units.
    """

    first: str
    second: str
    counts: np.ndarray
    first_edges: np.ndarray
    second_edges: np.ndarray

    @property
    def filled(self) -> float:
        """Share of cells with at least one draw."""
        return float((self.counts > 0).mean())


@dataclass(frozen=True)
class Coverage:
    """Coverage of the drawn values of a run.

    Attributes:
        columns: the columns that vary.
        rows: number of draws used.
        discrepancy: squared centred L2 discrepancy, as in SciPy; None with fewer than two draws or without a
            continuous column.
        expected_discrepancy: its mean for as many independent uniform draws; None like `discrepancy`.
        worst_pair: the pair with the smallest filled share; None with fewer than two columns or 16 rows.
        expected_filled: that share for independent uniform draws.
    """

    columns: tuple[str, ...]
    rows: int
    discrepancy: float | None
    expected_discrepancy: float | None
    worst_pair: PairGrid | None
    expected_filled: float | None

    @property
    def unevenness(self) -> float | None:
        """Discrepancy relative to independent draws: 1 is equally uneven, less is more even."""
        if self.discrepancy is None or not self.expected_discrepancy:
            return None
        return float(np.sqrt(self.discrepancy / self.expected_discrepancy))


def coverage(columns: Mapping[str, np.ndarray]) -> Coverage:
    """The coverage of drawn values, column -> (n,). Rows with a missing value and constant columns are left out.

    Columns are rescaled by their smallest and largest value, not by rank. Ranks are always spread evenly, so they would
    hide parts of the range without draws. As a consequence a normally distributed column counts as uneven, because its
    tails have few draws. A wide positive range is rescaled by its logarithm if that is more even. A column of few
    values is rescaled by the index of the value.
    """
    given = {name: np.asarray(values, float) for name, values in columns.items()}
    if given:
        complete = np.isfinite(np.column_stack(list(given.values()))).all(axis=1)
        given = {name: values[complete] for name, values in given.items()}
    given = {name: values for name, values in given.items() if len(values) and np.ptp(values) > 0}
    scales = {name: _Scale(values) for name, values in given.items()}
    rows = len(next(iter(given.values()))) if given else 0
    discrepancy, expected = _discrepancy([scale.unit for scale in scales.values() if not scale.few])
    worst = _worst_pair(scales, rows)
    chance = None if worst is None else 1 - (1 - 1 / worst.counts.size) ** rows
    return Coverage(tuple(given), rows, discrepancy, expected, worst, chance)


class _Scale:
    """A column rescaled to the unit interval, and the inverse for cell edges."""

    def __init__(self, values: np.ndarray):
        self.levels = np.unique(values)
        self.few = len(self.levels) < FEW_VALUES
        self.wide = False
        if self.few:
            self.unit = (np.searchsorted(self.levels, values) + 0.5) / len(self.levels)
            return
        self.unit = _between(values)
        if self.levels[0] > 0 and self.levels[-1] > WIDE_RATIO * self.levels[0]:
            by_magnitude = _between(np.log(values))
            # A range that begins near zero has a large ratio too, so the more even of the two scales is used.
            self.wide = _from_uniform(by_magnitude) < _from_uniform(self.unit)
            self.unit = by_magnitude if self.wide else self.unit

    def cells(self, most: int) -> int:
        return min(most, len(self.levels)) if self.few else most

    def edges(self, cells: int) -> np.ndarray:
        if self.few:
            first = np.ceil(np.arange(1, cells) * len(self.levels) / cells - 0.5).astype(int)
            between = (self.levels[first - 1] + self.levels[first]) / 2
            return np.concatenate([self.levels[:1], between, self.levels[-1:]])
        if self.wide:
            return np.geomspace(self.levels[0], self.levels[-1], cells + 1)
        return np.linspace(self.levels[0], self.levels[-1], cells + 1)


def _between(values: np.ndarray) -> np.ndarray:
    return (values - values.min()) / np.ptp(values)


def _from_uniform(unit: np.ndarray) -> float:
    """Largest distance of the values' distribution from the uniform one (Kolmogorov-Smirnov)."""
    return float(np.abs(np.sort(unit) - (np.arange(len(unit)) + 0.5) / len(unit)).max())


def _discrepancy(units: list[np.ndarray]) -> tuple[float | None, float | None]:
    if not units or len(units[0]) < 2:
        return None, None
    points, dimensions = np.column_stack(units), len(units)
    rows = len(points)
    if rows <= BLOCK_ROWS * BLOCKS:
        blocks = [points]
    else:
        # Blocks start at multiples of a power of two, where a Sobol sequence is as even as at its beginning.
        starts = [rows * number // BLOCKS // BLOCK_ROWS * BLOCK_ROWS for number in range(BLOCKS)]
        blocks = [points[start : start + BLOCK_ROWS] for start in starts]
    measured = float(np.mean([centred_discrepancy(block) for block in blocks]))
    # Mean of the kernel on its diagonal minus its mean over the square, both products over dimensions.
    expected = ((5 / 4) ** dimensions - (13 / 12) ** dimensions) / len(blocks[0])
    return measured, expected


def centred_discrepancy(points: np.ndarray) -> float:
    """The squared centred L2 discrepancy of (n, d) points of the unit cube (Hickernell, Math. Comp. 67, 1998).

    SciPy has it too (the tests compare with it), but takes a second to import, which is a tenth of a small run.
    """
    count, dimensions = points.shape
    off = np.abs(points - 0.5)
    single = np.prod(1 + 0.5 * off - 0.5 * off**2, axis=1)
    total = 0.0
    for first in range(0, count, CACHED_ROWS):
        stop = first + CACHED_ROWS
        pairs = np.ones((len(points[first:stop]), count - first))
        for column, away in zip(points[first:].T, off[first:].T, strict=True):
            factor = np.abs(column[:CACHED_ROWS, None] - column)
            np.subtract(away, factor, out=factor)
            factor += 2 + away[:CACHED_ROWS, None]
            pairs *= factor
        # The matrix is symmetric, so pairs to the right of the diagonal block count twice.
        total += float(pairs.sum() + pairs[:, CACHED_ROWS:].sum())
    # Each factor was twice its value, which saves a pass.
    return float((13 / 12) ** dimensions - 2 * single.mean() + total / 2.0**dimensions / count**2)


def _worst_pair(scales: Mapping[str, _Scale], rows: int) -> PairGrid | None:
    most = min(MOST_CELLS, int(np.sqrt(rows / CELL_ROWS)))
    if len(scales) < 2 or most < 2:
        return None
    cells = {name: scale.cells(most) for name, scale in scales.items()}
    codes = {
        name: np.minimum((scale.unit * cells[name]).astype(int), cells[name] - 1) for name, scale in scales.items()
    }
    worst: tuple[float, str, str, np.ndarray] | None = None
    for first, second in combinations(scales, 2):
        shape = cells[first], cells[second]
        counts = np.bincount(codes[first] * shape[1] + codes[second], minlength=shape[0] * shape[1])
        filled = float((counts > 0).mean())
        if worst is None or filled < worst[0]:
            worst = filled, first, second, counts.reshape(shape)
    assert worst is not None
    _, first, second, counts = worst
    return PairGrid(first, second, counts, scales[first].edges(cells[first]), scales[second].edges(cells[second]))

"""The plan of a fill: which regions of the draw space have too few accepted episodes, and how many attempts go there.

The space is the unit cube of the draws' quantiles, so every cell of equal size should have as many episodes. Cells of
every pair of columns are compared. Attempts are given out in portions, each to the cell in which an attempt gains most:
the number of episodes that it lacks times its acceptance rate. The episodes to expect from it then count for all pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from twinloop.randomize.fill import FillConfig, FillRegion

CELL_EPISODES = 40
"""Accepted episodes that a cell should have, so that a lack is not chance."""
MOST_SIDE = 8
MIN_RATE = 0.15
"""A region with a smaller acceptance rate is not filled: it would take most attempts and gain few episodes."""
PORTIONS = 40
"""A cell gets at most this part of the attempts before all cells are compared again."""
MOST_REGIONS = 64
MIN_LACK = 3.0
"""A cell is thin if it lacks more than this many standard deviations of its expected count (Poisson)."""


@dataclass(frozen=True)
class ThinRegion:
    """A cell with fewer accepted episodes than its size calls for.

    Attributes:
        quantiles: column -> part of its distribution.
        attempts, accepted: episodes that were drawn there, and those accepted.
        expected: accepted episodes if all cells had the same number.
    """

    quantiles: Mapping[str, tuple[float, float]]
    attempts: int
    accepted: int
    expected: float


class _Grid:
    """Counts over the cells of one or two columns."""

    def __init__(self, columns: tuple[str, ...], points: Mapping[str, np.ndarray], accepted: np.ndarray, side: int):
        self.columns, self.side = columns, side
        self.shape = (side,) * len(columns)
        codes = np.zeros(len(accepted), int)
        for column in columns:
            codes = codes * side + np.minimum((points[column] * side).astype(int), side - 1)
        size = side ** len(columns)
        self.attempts = np.bincount(codes, minlength=size).astype(float)
        self.accepted = np.bincount(codes[accepted], minlength=size).astype(float)
        self.planned = self.accepted.copy()

    @property
    def rates(self) -> np.ndarray:
        """(cells,) acceptance rates, with one accepted and one rejected attempt added to each cell."""
        return (self.accepted + 1) / (self.attempts + 2)

    def box(self, cell: int) -> dict[str, tuple[float, float]]:
        places = np.unravel_index(cell, self.shape)
        return {
            column: (round(int(place) / self.side, 6), round((int(place) + 1) / self.side, 6))
            for column, place in zip(self.columns, places, strict=True)
        }

    def add(self, box: Mapping[str, tuple[float, float]], episodes: float) -> None:
        """Count the accepted episodes of a region, spread evenly over it."""
        edges = np.arange(self.side + 1) / self.side
        shares = np.ones(1)
        for column in self.columns:
            low, high = box.get(column, (0.0, 1.0))
            overlap = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None) / (high - low)
            shares = (shares[:, None] * overlap).ravel()
        self.planned += episodes * shares


def grids_of(points: Mapping[str, np.ndarray], accepted: np.ndarray) -> list[_Grid]:
    """Grids over all pairs of columns; of the only column, if there is one."""
    columns = list(points)
    if not columns or not accepted.any():
        return []
    share = accepted.sum() / CELL_EPISODES
    if len(columns) == 1:
        side = int(np.clip(share, 2, MOST_SIDE**2))
        return [_Grid((columns[0],), points, accepted, side)]
    side = int(np.clip(np.sqrt(share), 2, MOST_SIDE))
    return [_Grid(pair, points, accepted, side) for pair in combinations(columns, 2)]


def thin_regions(points: Mapping[str, np.ndarray], accepted: np.ndarray) -> list[ThinRegion]:
    """Cells of pairs of columns with too few accepted episodes, the emptiest first.

    Args:
        points: column -> (n,) quantiles of the draws, from 0 to 1.
        accepted: (n,) bool.
    """
    thin = []
    for grid in grids_of(points, accepted):
        expected = accepted.sum() / len(grid.accepted)
        for cell in np.flatnonzero(grid.accepted < expected - MIN_LACK * np.sqrt(expected)):
            counts = int(grid.attempts[cell]), int(grid.accepted[cell])
            thin.append(ThinRegion(grid.box(int(cell)), *counts, float(expected)))
    return sorted(thin, key=lambda region: (region.accepted / region.expected, tuple(region.quantiles)))


def cell_variation(points: Mapping[str, np.ndarray], accepted: np.ndarray) -> float | None:
    """Coefficient of variation of accepted episodes over cells, root mean square over all pairs; None without cells."""
    grids = grids_of(points, accepted)
    if not grids:
        return None
    variances = [float(np.var(grid.accepted) / np.mean(grid.accepted) ** 2) for grid in grids]
    return float(np.sqrt(np.mean(variances)))


def plan_fill(
    points: Mapping[str, np.ndarray], accepted: np.ndarray, *, episodes: int, of: Sequence[str]
) -> FillConfig | None:
    """Return the regions in which a run of `episodes` attempts should draw; None if no region is thin.

    Args:
        points: column -> (n,) quantiles of the draws of the existing data.
        accepted: (n,) bool.
        of: digests of the existing datasets.
    """
    if not thin_regions(points, accepted):
        return None
    grids = grids_of(points, accepted)
    shares: dict[tuple[tuple[str, tuple[float, float]], ...], float] = {}
    left, overall = float(episodes), float(accepted.mean())
    portion = max(1.0, episodes / PORTIONS)
    while left >= 1 and len(shares) < MOST_REGIONS:
        # Attempts that are left count as drawn from everywhere, until a region takes them.
        tables = [_gains(grid, left * overall) for grid in grids]
        grid, gains = max(zip(grids, tables, strict=True), key=lambda pair: float(pair[1].max()))
        cell, gain = int(gains.argmax()), float(gains.max())
        if gain < 1:
            break
        rate = float(grid.rates[cell])
        attempts = min(left, portion, np.ceil(gain / rate**2))
        box = grid.box(cell)
        key = tuple(box.items())
        shares[key] = shares.get(key, 0.0) + float(attempts) / episodes
        left -= attempts
        for other in grids:
            other.add(box, attempts * rate)
    if not shares:
        return None
    return FillConfig(tuple(of), tuple(FillRegion(round(share, 6), dict(key)) for key, share in shares.items()))


def _gains(grid: _Grid, elsewhere: float) -> np.ndarray:
    """(cells,) accepted episodes that each cell lacks, times its acceptance rate; 0 where it lacks none.

    `elsewhere` more episodes are spread over all cells. Cells in which nearly all attempts fail are left out.
    """
    after = grid.planned + elsewhere / len(grid.planned)
    return np.where(grid.rates >= MIN_RATE, np.maximum(after.mean() - after, 0), 0) * grid.rates

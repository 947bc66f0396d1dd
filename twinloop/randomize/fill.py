"""FillConfig: regions of the draw space in which a run draws more often than elsewhere.

A region restricts some columns to a part of their own distribution, given as quantiles. Draws are made by inverse
transform from points of the unit cube, so a region is a box of that cube. Which region an episode belongs to depends on
its index and the run seed alone. A filled run is therefore a config like any other: config digest, run seed and episode
index determine an episode.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinloop.config.compound import Span
from twinloop.config.fields import listed, mapped, number, texts
from twinloop.config.record import Nested

MOST_REGIONS = 256
DIGITS = 6


@dataclass(frozen=True)
class FillRegion:
    """A box of the draw space and the share of episodes that are drawn in it."""

    share: float = number(low=0, high=1, above=True, digits=DIGITS, help="share of the episodes drawn in this region")
    quantiles: dict[str, tuple[float, float]] = mapped(
        Span(low=0, high=1, digits=DIGITS), what="column", most=None,
        help="column of the draws -> part of its distribution, as quantiles from 0 to 1",
    )  # fmt: skip


@dataclass(frozen=True)
class FillConfig:
    """Where a run draws more often, because earlier datasets have few episodes there."""

    of: tuple[str, ...] = texts(help="digests of the datasets that this run fills")
    regions: tuple[FillRegion, ...] = listed(
        Nested(record=FillRegion), least=1, most=MOST_REGIONS, what="region",
        help="boxes of the draw space; the rest of the episodes is drawn from everywhere",
    )  # fmt: skip

    def problems(self) -> Iterator[tuple[str, str]]:
        total = sum(region.share for region in self.regions)
        if total > 1 + 1e-4:
            yield "regions", f"have shares that sum to {total:.4g}; 1 at most was expected"


def region_of(fill: FillConfig, unit: np.ndarray) -> np.ndarray:
    """(n,) index of the region of each episode, for (n,) numbers from 0 to 1; -1 for draws from everywhere."""
    edges = np.cumsum([region.share for region in fill.regions])
    index = np.searchsorted(edges, unit, side="right")
    return np.where(index < len(edges), index, -1)


def restricted(fill: FillConfig, regions: np.ndarray, column: str, points: np.ndarray) -> np.ndarray:
    """(n,) points of one column, moved into the regions of their episodes."""
    for index, region in enumerate(fill.regions):
        if column in region.quantiles:
            low, high = region.quantiles[column]
            points = np.where(regions == index, low + points * (high - low), points)
    return points

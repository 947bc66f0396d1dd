"""Bank: the traits of a policy in the unchanged twin and in every counterfactual cell. Simulated once per policy."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.hypothesis import Hypothesis
from twinloop.diagnose.hypothesis_set import Chunk
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.parameter import GAPS, Gap

_SUCCESS = [trait.name for trait in TRAITS].index("success")


@dataclass(frozen=True)
class CounterfactualCell:
    """A simulated cell in which a hypothesis holds. traits: (episodes, traits) of the policy there."""

    hypothesis: Hypothesis
    traits: np.ndarray

    @property
    def success(self) -> float:
        return float(np.mean(self.traits[:, _SUCCESS]))


Simulate = Callable[[Sequence[Chunk]], Iterable[tuple[Chunk, list[CounterfactualCell]]]]
"""A simulator: rolls out the policy under the hypotheses of some chunks."""


@dataclass(frozen=True)
class Bank:
    """reference: the unchanged twin. cells: one cell for each hypothesis with a gap."""

    reference: CounterfactualCell
    cells: tuple[CounterfactualCell, ...]

    @cached_property
    def by_gap(self) -> dict[Gap, tuple[CounterfactualCell, ...]]:
        return {gap: tuple(cell for cell in self.cells if cell.hypothesis.gap == gap) for gap in GAPS}

    def sizes(self, gap: Gap) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the rows of a gap and a (cells, rows) array of how far each row is off in each cell."""
        cells = self.by_gap[gap]
        rows = tuple(dict.fromkeys(name for cell in cells for name in cell.hypothesis.ranges))
        return rows, _table(rows, cells)


def _table(rows: Sequence[str], cells: Sequence[CounterfactualCell]) -> np.ndarray:
    return np.array([[cell.hypothesis.sizes.get(row, 0.0) for row in rows] for cell in cells])

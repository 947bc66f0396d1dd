"""Bank: the traits of a policy in the unchanged twin and in every counterfactual cell. Simulated once per policy."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twinloop.diagnose.causes import Cause
from twinloop.diagnose.hypothesis import Hypothesis
from twinloop.diagnose.hypothesis_set import MOBILE_TOLERANCE, Chunk
from twinloop.diagnose.summary import TraitSummary, paired_difference, summarise
from twinloop.diagnose.traits import TRAITS

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
    """The counterfactuals of one policy.

    Attributes:
        causes: everything that can be wrong in the cell.
        reference: the unchanged twin. Its first episodes have the scenes of every other cell.
        cells: each cause alone at a few sizes, and some causes together.
    """

    causes: tuple[Cause, ...]
    reference: CounterfactualCell
    cells: tuple[CounterfactualCell, ...]

    def with_traits(self, change: Callable[[np.ndarray], np.ndarray]) -> "Bank":
        """The bank with changed (episodes, traits) of every cell."""
        reference, *cells = (replace(cell, traits=change(cell.traits)) for cell in (self.reference, *self.cells))
        return replace(self, reference=reference, cells=tuple(cells))

    def paired(self, cell: CounterfactualCell) -> np.ndarray:
        """(episodes, traits) of the unchanged twin in the scenes of a cell."""
        return self.reference.traits[: len(cell.traits)]

    def difference(self, cell: CounterfactualCell) -> tuple[np.ndarray, np.ndarray]:
        """((entries,) change of the summary from the unchanged twin to a cell, (entries,) its sampling variance)."""
        return paired_difference(cell.traits, self.paired(cell), self._usual[len(cell.traits)])

    @cached_property
    def _usual(self) -> dict[int, TraitSummary]:
        """Number of episodes -> summary of the unchanged twin in the scenes of cells with as many."""
        counts = {len(cell.traits) for cell in self.cells}
        return {count: summarise(self.reference.traits[:count]) for count in counts}

    def alone(self, cause: Cause) -> list[tuple[float, CounterfactualCell]]:
        """(size, cell) of the cells in which only this cause holds, the smallest size first."""
        cells = [
            (cell.hypothesis.sizes[cause.name], cell)
            for cell in self.cells
            if set(cell.hypothesis.sizes) == {cause.name}
        ]
        return sorted(cells, key=lambda pair: pair[0])

    @property
    def together(self) -> list[CounterfactualCell]:
        """Cells with several causes."""
        return [
            cell for cell in self.cells
            if len(cell.hypothesis.sizes) > 1 and cell.hypothesis.magnitude > MOBILE_TOLERANCE
        ]  # fmt: skip

    @property
    def nearly_unchanged(self) -> list[CounterfactualCell]:
        """Cells in which every row is a little wrong."""
        return [
            cell for cell in self.cells
            if len(cell.hypothesis.sizes) > 1 and cell.hypothesis.magnitude <= MOBILE_TOLERANCE
        ]  # fmt: skip

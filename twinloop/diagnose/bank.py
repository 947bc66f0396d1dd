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
    """reference: the unchanged twin. worlds: one cell for each hypothesis with a gap."""

    reference: CounterfactualCell
    worlds: tuple[CounterfactualCell, ...]

    @cached_property
    def by_gap(self) -> dict[Gap, tuple[CounterfactualCell, ...]]:
        return {gap: tuple(world for world in self.worlds if world.hypothesis.gap == gap) for gap in GAPS}

    def sizes(self, gap: Gap) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the rows of a gap and a (cells, rows) array of how far each row is off in each cell."""
        worlds = self.by_gap[gap]
        rows = tuple(dict.fromkeys(name for world in worlds for name in world.hypothesis.ranges))
        return rows, _table(rows, worlds)


def _table(rows: Sequence[str], worlds: Sequence[CounterfactualCell]) -> np.ndarray:
    return np.array([[world.hypothesis.sizes.get(row, 0.0) for row in rows] for world in worlds])

"""Bank: what a policy shows in the twin as it is, and in every cell of the hypotheses. Made once for a policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.hypothesis import Hypothesis
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.parameter import GAPS, Gap

_SUCCESS = [trait.name for trait in TRAITS].index("success")


@dataclass(frozen=True)
class CounterfactualCell:
    """traits: (episodes, traits) of the policy in a cell where the hypothesis holds."""

    hypothesis: Hypothesis
    traits: np.ndarray

    @property
    def success(self) -> float:
        return float(np.mean(self.traits[:, _SUCCESS]))


@dataclass(frozen=True)
class Bank:
    """reference: where nothing is wrong."""

    reference: CounterfactualCell
    worlds: tuple[CounterfactualCell, ...]

    @cached_property
    def by_gap(self) -> dict[Gap, tuple[CounterfactualCell, ...]]:
        return {gap: tuple(world for world in self.worlds if world.hypothesis.gap == gap) for gap in GAPS}

    def sizes(self, gap: Gap) -> tuple[tuple[str, ...], np.ndarray]:
        """The rows of a gap, and (worlds, rows) how wrong each is in each of its cells."""
        worlds = self.by_gap[gap]
        rows = tuple(dict.fromkeys(name for world in worlds for name in world.hypothesis.ranges))
        return rows, _table(rows, worlds)


def _table(rows: Sequence[str], worlds: Sequence[CounterfactualCell]) -> np.ndarray:
    return np.array([[world.hypothesis.sizes.get(row, 0.0) for row in rows] for world in worlds])

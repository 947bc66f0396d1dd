"""The table of truths: every quantity that a cell file may set for a rehearsal cell, and the gap that it belongs to.

Rows of the parameter table declare theirs (`Parameter.truth`), so that a config can vary the quantities that a
diagnosis finds in a cell.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from twinloop.randomize.parameter import GAPS, Gap, Parameter
from twinloop.randomize.table import BUILTIN, PLUGINS
from twinloop.randomize.uses import CellTruth

Range = tuple[float, float]
"""(low, high) of a uniform distribution that is drawn from in each episode; low equals high for a fixed value."""


@dataclass(frozen=True)
class Truth:
    """One row of the table.

    Attributes:
        touches: what the quantity changes.
        nominal: range at magnitude 0 of its gap, as the twin assumes.
        worst: range at magnitude 1 of its gap.
        plausible: range that a cell file may use.
        elements: each element is drawn independently.
    """

    name: str
    gap: Gap
    unit: str
    touches: str
    nominal: Range
    worst: Range
    plausible: Range
    elements: tuple[str, ...] = ()

    def at(self, magnitude: float) -> Range:
        """Interpolate linearly between nominal (magnitude 0) and worst (1)."""
        (low, high), (worst_low, worst_high) = self.nominal, self.worst
        return low + magnitude * (worst_low - low), high + magnitude * (worst_high - high)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{element}" for element in self.elements) or (self.name,)


def _of_row(row: Parameter, truth: CellTruth) -> Truth:
    """The truth that a row of the parameter table declares; what it leaves open is that of the row."""
    return Truth(
        name=truth.name or row.name,
        gap=row.gap,
        unit=truth.unit or row.unit,
        touches=truth.touches or row.touches,
        nominal=_range(row.nominal if truth.nominal is None else truth.nominal),
        worst=_range(truth.worst),
        plausible=truth.plausible or row.plausible,
        elements=row.elements if truth.elements is None else truth.elements,
    )


def _range(value: float | Range) -> Range:
    return value if isinstance(value, tuple) else (value, value)


def _of_rows(rows: Iterable[Parameter]) -> list[Truth]:
    return [_of_row(row, row.truth) for row in rows if row.truth is not None]


OWN = (
    Truth("human_hiding_share", "human", "1", "share of time in which a person hides the object from the tracker",
          (0.0, 0.0), (0.2, 0.2), (0.0, 0.9)),
)  # fmt: skip
"""Truths without a row."""

TRUTHS: tuple[Truth, ...] = (
    *sorted((*_of_rows(BUILTIN), *OWN), key=lambda truth: GAPS.index(truth.gap)),
    *_of_rows(PLUGINS),
)
"""By gap, then in the order of the table. Those of other packages are last."""

BY_GAP: dict[Gap, tuple[Truth, ...]] = {gap: tuple(row for row in TRUTHS if row.gap == gap) for gap in GAPS}

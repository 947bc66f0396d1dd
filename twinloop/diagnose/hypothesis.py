"""Hypotheses: cells that differ from the twin in some rows of the parameter table (`causes.py` makes them)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinloop.randomize.distribution import Distribution
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import TABLE


@dataclass(frozen=True)
class Hypothesis:
    """A cell that differs from the twin in some rows.

    Attributes:
        gap: the open gap; None if none or several are open.
        magnitude: how far it is open: the largest size of its causes.
        ranges: distribution of every row that differs.
        sizes: name of a cause -> its size.
        elements: column -> constant value, for rows of which only some elements differ.
    """

    gap: Gap | None
    magnitude: float
    ranges: Mapping[str, Distribution]
    sizes: Mapping[str, float]
    elements: Mapping[str, float] = field(default_factory=dict)


NOTHING = Hypothesis(None, 0.0, {}, {})


def rows_of(gap: Gap, *, pictures: bool, wrist: bool, touch: bool, person: bool, soft: bool) -> tuple[Parameter, ...]:
    """Rows of a gap that can have an effect in a cell with these features, and that are a property of a cell."""
    there = {"cameras": pictures, "wrist": wrist, "touch": touch, "person": person, "soft": soft}
    absent = {part for part, is_there in there.items() if not is_there}
    rows = (row for row in TABLE if row.gap == gap and row.reach > 0 and "arm" in row.robots)
    return tuple(row for row in rows if absent.isdisjoint(row.only_with))


def ends_of(row: Parameter) -> tuple[float, float]:
    """Lowest and highest value of the row in hypotheses."""
    low, high = (row.nominal + row.reach * (end - row.nominal) for end in row.sensible)
    return max(low, row.plausible[0]), min(high, row.plausible[1])

"""Causes: the single ways in which a row of the parameter table can be wrong, each with a size.

A row is wrong by a constant below or above nominal, or it varies from episode to episode, or its event occurs in a
share of the episodes. A size of 1 is the end of the row's sensible range. Hypotheses combine causes; the bank simulates
each cause alone at a few sizes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from twinloop.diagnose.hypothesis import NOTHING, Hypothesis
from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform, choice_of
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import BY_NAME

Side = Literal["low", "high", "spread", "share"]

MAX_SIZE = 4.0
"""Largest size of a cause in an explanation; sizes beyond those of the bank are extrapolated."""
SHARE_AT_1 = 0.5
"""Share of episodes with the event of a row, at size 1."""
MAX_SHARE = 0.95
VARYING: tuple[Gap, ...] = ("environment", "human", "object")
"""Gaps whose rows can also differ from episode to episode: people, objects and layouts change, a drive does not."""


@dataclass(frozen=True)
class Cause:
    """One way in which a row can be wrong.

    Attributes:
        side: constant error below or above nominal, symmetric variation, or share of episodes with an event.
        element: the only element of the row that is wrong; "" for all of them.
        dependent: rows that act only together with this row; they are drawn from their sensible ranges.
        base: range of the row in the unchanged twin; a single value, except for rows that lay out a scene.
        worse: a row of another gap that this error makes worse, by the same share of its largest size; "" for none.
        ends: sensible range of the row for this robot, where it is not that of the table.
    """

    row: str
    side: Side
    base: tuple[float, float]
    element: str = ""
    dependent: tuple[str, ...] = ()
    worse: str = ""
    ends: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        more = f" with {self.worse}" if self.worse else ""
        return f"{self.row}{'.' * bool(self.element)}{self.element} ({self.side}{more})"

    @cached_property
    def parameter(self) -> Parameter:
        return BY_NAME[self.row]

    @property
    def gap(self) -> Gap:
        return self.parameter.gap

    @property
    def nominal(self) -> float:
        """The middle of the row's range in the unchanged twin."""
        return sum(self.base) / 2

    @cached_property
    def max_size(self) -> float:
        """The size at which the row reaches the end of its plausible range, at most `MAX_SIZE`."""
        return self.largest_size(MAX_SIZE)

    def largest_size(self, most: float) -> float:
        """The size at which the row reaches the end of its plausible range, at most `most`."""
        row = self.parameter
        if self.side == "share" or _is_count(row):
            return MAX_SHARE / SHARE_AT_1
        sides: Sequence[Side] = ("low", "high") if self.side == "spread" else (self.side,)
        sizes = [size / 10 for size in range(1, round(10 * most) + 1)]
        inside = [
            size
            for size in sizes
            if all(row.plausible[0] <= self._end(side, size) <= row.plausible[1] for side in sides)
        ]
        return max(inside, default=0.0)

    def value(self, size: float) -> float:
        """The row's value at this size: a value, the distance that it reaches from nominal, or a share."""
        if self.side == "share":
            return min(SHARE_AT_1 * size, MAX_SHARE)
        if _is_count(self.parameter):
            return float(_count(self.parameter, size))
        if self.side == "spread":
            return max(abs(self._end(side, size) - self.nominal) for side in ("low", "high"))
        return self._end(self.side, size)

    def distribution(self, size: float) -> Distribution:
        row = self.parameter
        if self.side == "share" and row.chance is not None:
            share = min(SHARE_AT_1 * size, MAX_SHARE)
            return Choice((0.0, 1.0), (1 - share, share))
        if self.side == "share":
            share = min(SHARE_AT_1 * size, MAX_SHARE)
            others = tuple(float(index) for index in range(len(row.words) or int(row.sensible[1])))
            return Choice((row.nominal, *others), (1 - share, *(share / len(others) for _ in others)))
        if _is_count(row):
            return choice_of(tuple(float(count) for count in range(round(row.nominal), _count(row, size) + 1)))
        if self.side == "spread":
            low, high = (self._end(side, size) for side in ("low", "high"))
            return Uniform(max(low, row.plausible[0]), min(high, row.plausible[1]))
        low, high = row.plausible
        return Constant(min(max(self._end(self.side, size), low), high))

    def _end(self, side: Side, size: float) -> float:
        """The value at a size: a power of the ratio for positive quantities such as masses and scales, else linear."""
        row, (first, last) = self.parameter, self.base
        low, high = self.ends or row.sensible
        end = (low if low < row.nominal else high) if side == "low" else (high if high > row.nominal else low)
        start = first if side == "low" else last
        if row.nominal > 0 and row.plausible[0] > 0 and end > 0:
            return start * (end / row.nominal) ** size
        return start + size * (end - row.nominal)


def causes_of(
    rows: Iterable[Parameter],
    *,
    laid_out: Mapping[str, tuple[float, float]],
    sensible: Mapping[str, tuple[float, float]] = {},
) -> tuple[Cause, ...]:
    """All causes of some rows.

    Args:
        laid_out: row, or row.element -> its range in the unchanged twin. A row with a range of some width lays out
            scenes; its only error is a wider range. Rows that are not named have their nominal value.
        sensible: row -> its sensible range for this robot, where it is not that of the table.
    """
    rows = tuple(rows)
    names = {row.name for row in rows}
    causes: list[Cause] = []
    for row in rows:
        if row.needs in names:
            continue
        dependent = tuple(other.name for other in rows if other.needs == row.name)
        base = laid_out.get(row.name, (row.nominal, row.nominal))
        if row.chance is not None or row.words or row.pool:
            causes.append(Cause(row.name, "share", base, dependent=dependent))
            continue
        ends = sensible.get(row.name)
        low, high = ends or row.sensible
        two_sided = low < row.nominal < high
        sides: list[Side] = ["low", "high"] if two_sided else ["low" if low < row.nominal else "high"]
        if _is_count(row):
            sides = ["high"]
        if two_sided and row.gap in VARYING and not _is_count(row):
            causes.append(Cause(row.name, "spread", base, dependent=dependent, ends=ends))
        if base[0] < base[1]:
            continue
        elements = row.elements if two_sided and row.gap not in VARYING else ()
        for element in elements or ("",):
            own_base = laid_out.get(f"{row.name}.{element}", base)
            causes += [Cause(row.name, side, own_base, element, dependent, ends=ends) for side in sides]
        if row.worsens in names and "low" in sides:
            causes.append(Cause(row.name, "low", base, dependent=dependent, worse=row.worsens))
    return tuple(cause for cause in causes if cause.max_size > 0)


def hypothesis_of(parts: Iterable[tuple[Cause, float]]) -> Hypothesis:
    """The hypothesis that some causes hold with these sizes."""
    parts = tuple(parts)
    ranges: dict[str, Distribution] = {}
    elements: dict[str, float] = {}
    sizes: dict[str, float] = {}
    gaps: list[Gap] = []
    for cause, size in parts:
        if size <= 0:
            continue
        distribution = cause.distribution(size)
        gaps.append(cause.gap)
        sizes[cause.name] = size
        if cause.element:
            (value, _) = distribution.support()
            elements[f"{cause.row}.{cause.element}"] = value
            ranges[f"{cause.row}.{cause.element}"] = Constant(value)  # the other elements stay as in the twin
        else:
            ranges[cause.row] = distribution
        for name in cause.dependent:
            ranges[name] = Uniform(*BY_NAME[name].sensible)
    for cause, size in parts:
        if cause.worse and size > 0:
            row = BY_NAME[cause.worse]
            other = Cause(row.name, "high", (row.nominal, row.nominal))
            ranges.setdefault(row.name, other.distribution(size / cause.max_size * other.max_size))
    if not gaps:
        return NOTHING
    gap = gaps[0] if len(set(gaps)) == 1 else None
    return Hypothesis(gap, max(sizes.values()), ranges, sizes, elements)


def _is_count(row: Parameter) -> bool:
    return row.unit in ("things", "lights")


def _count(row: Parameter, size: float) -> int:
    """The largest number at a size; a size of 2 reaches the end of the sensible range."""
    more = max(1, round(size * (row.sensible[1] - row.nominal) / 2))
    return min(round(row.nominal) + more, int(row.plausible[1]))

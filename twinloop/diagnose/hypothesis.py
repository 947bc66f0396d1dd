"""Hypotheses: cells in which one gap is open with a given magnitude. They change rows of the parameter table.

The error of a row is constant (backlash of a gear) or differs in each episode (positions of objects). Cells differ in
which rows have errors and how large these are. Hypotheses are drawn in the same way. They reach beyond the sensible
ranges, because training may already cover those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform, choice_of
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import TABLE

MIN_MAGNITUDE = 0.15
USED = (0.3, 1.0)  # share of a gap's rows that have an error in one cell
VARYING: dict[Gap, float] = {"environment": 0.8, "human": 0.9, "object": 0.6}
"""Probability that the error of a two-sided row differs in each episode; `SELDOM` for the other gaps."""
SELDOM = 0.15


@dataclass(frozen=True)
class Hypothesis:
    """A cell in which one gap is open.

    Attributes:
        gap: the open gap; None if none is.
        magnitude: how far it is open.
        ranges: distribution of every row of the gap; rows without an error have their nominal value.
        sizes: row -> error as a share of the distance to the end of the hypotheses' range. Negative for a constant
            error below nominal of a row that can err in both directions.
    """

    gap: Gap | None
    magnitude: float
    ranges: Mapping[str, Distribution]
    sizes: Mapping[str, float]


NOTHING = Hypothesis(None, 0.0, {}, {})


def rows_of(gap: Gap, *, pictures: bool, wrist: bool, touch: bool, person: bool, soft: bool) -> tuple[Parameter, ...]:
    """Rows of a gap that can have an effect in a cell with these features, and that are a property of a cell."""
    there = {"cameras": pictures, "wrist": wrist, "touch": touch, "person": person, "soft": soft}
    absent = {part for part, is_there in there.items() if not is_there}
    return tuple(row for row in TABLE if row.gap == gap and row.reach > 0 and absent.isdisjoint(row.only_with))


def drawn(gap: Gap, rows: Sequence[Parameter], number: int, *, magnitude: float | None = None, seed: int) -> Hypothesis:
    """Draw hypothesis `number` of a gap. The result is the same for the same seed.

    Args:
        magnitude: magnitude to use instead of a random one.
    """
    rng = episode_rng(seed, number, stream=f"hypothesis/{gap}")
    size = rng.uniform(MIN_MAGNITUDE, 1.0)
    size = size if magnitude is None else magnitude
    names = [row.name for row in rows]
    used_share = rng.uniform(*USED)
    used = {name for name in names if rng.random() < used_share} or {names[int(rng.integers(len(names)))]}
    used |= {row.needs for row in rows if row.name in used and row.needs in names}
    ranges, sizes = {}, {}
    for row in rows:
        share, kind, side = size * rng.uniform(0.5, 1.0), rng.random(), rng.random()
        if row.name not in used:
            ranges[row.name] = Constant(row.nominal)
            continue
        ranges[row.name], sizes[row.name] = _wrong(row, share, kind < VARYING.get(row.gap, SELDOM), low=side < 0.5)
    return Hypothesis(gap, size, ranges, sizes)


def ends_of(row: Parameter) -> tuple[float, float]:
    """Lowest and highest value of the row in hypotheses."""
    low, high = (row.nominal + row.reach * (end - row.nominal) for end in row.sensible)
    return max(low, row.plausible[0]), min(high, row.plausible[1])


def _wrong(row: Parameter, share: float, varies: bool, *, low: bool) -> tuple[Distribution, float]:
    if row.chance is not None:
        return Choice((0.0, 1.0), (1 - min(share, 0.95), min(share, 0.95))), share
    if row.pool or row.words:
        # `share` is the share of episodes with a value drawn from all others; the rest have the nominal value.
        others = tuple(float(index) for index in range(len(row.words) or int(row.sensible[1])))
        weights = tuple(share / len(others) for _ in others)
        return Choice((row.nominal, *others), (1 - share, *weights)), share
    first, last = ends_of(row)
    both = first < row.nominal < last
    if row.unit in ("things", "lights"):
        return choice_of(tuple(float(count) for count in range(round(share * last) + 1))), share
    if both and varies:
        return Uniform(row.nominal + share * (first - row.nominal), row.nominal + share * (last - row.nominal)), share
    if row.needs:
        # A row that depends on another row is drawn from its whole sensible range.
        return Uniform(*row.sensible), share
    end = first if (low and both) or last <= row.nominal else last
    sign = -1.0 if both and end == first else 1.0
    return Constant(row.nominal + share * (end - row.nominal)), sign * share

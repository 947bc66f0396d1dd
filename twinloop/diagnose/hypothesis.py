"""Hypotheses: cells in which one gap is open, by so much. What diagnosis perturbs is the table of parameters.

A row of a gap is wrong all the time (a gear's play) or another in every episode (where things are laid), and cells
differ in which rows are wrong and by how much. Hypotheses are drawn accordingly, further than the sensible ranges:
those are what training may have covered already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform, choice_of
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import Gap, Parameter
from twinloop.randomize.table import TABLE

BEYOND = 1.6
"""How far past its sensible range a row may be wrong, in widths of that range from nominal."""
MIN_MAGNITUDE = 0.15
USED = (0.3, 1.0)  # share of a gap's rows that are wrong in one cell
VARYING: dict[Gap, float] = {"environment": 0.8, "human": 0.9, "object": 0.6}
"""How often a row that may err both ways is another in every episode; elsewhere seldom."""
SELDOM = 0.15
PICTURES_ALONE = ("object_gloss", "floor_reflectance", "time_of_day_h", "daylight_intensity", "room_heading_deg")
"""Of the groups that are not `visual`: rows that cameras see and nothing else."""
FELT = {"wrist": ("force_", "torque_noise", "accelerometer_", "gyro_", "imu_"), "touch": ("touch_",)}


@dataclass(frozen=True)
class Hypothesis:
    """ranges: of every row of its gap; those that are right hold the nominal value. sizes: row -> how wrong it is, as
    a share of the way to where hypotheses end, signed where it may err both ways and errs one."""

    gap: Gap | None
    magnitude: float
    ranges: Mapping[str, Distribution]
    sizes: Mapping[str, float]


NOTHING = Hypothesis(None, 0.0, {}, {})


def rows_of(gap: Gap, *, pictures: bool, wrist: bool, touch: bool, person: bool, soft: bool) -> tuple[Parameter, ...]:
    """Those that a cell without this and that can show. The light is written down even where nobody takes pictures."""
    unfelt = [*(() if wrist else FELT["wrist"]), *(() if touch else FELT["touch"])]
    found = []
    for row in TABLE:
        unseen = not pictures and row.name != "lighting_intensity" and (
            row.group == "visual" or row.name in PICTURES_ALONE or row.name.startswith(("occluder", "distractor"))
        )  # fmt: skip
        absent = (row.name.startswith("hand_") and not person) or (row.name == "object_stiffness_kpa" and not soft)
        if row.name.startswith("solver_"):
            continue  # of the engine, not of the world
        if row.gap == gap and not unseen and not absent and not row.name.startswith(tuple(unfelt) or "\0"):
            found.append(row)
    return tuple(found)


def drawn(gap: Gap, rows: Sequence[Parameter], number: int, *, magnitude: float | None = None, seed: int) -> Hypothesis:
    """Number `number` of the hypotheses of a gap: the same for the same seed."""
    rng = episode_rng(seed, number, stream=f"hypothesis/{gap}")
    size = rng.uniform(MIN_MAGNITUDE, 1.0)
    size = size if magnitude is None else magnitude
    names = [row.name for row in rows]
    many = rng.uniform(*USED)
    used = {name for name in names if rng.random() < many} or {names[int(rng.integers(len(names)))]}
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
    """Where hypotheses of it end, below and above."""
    low, high = (row.nominal + BEYOND * (end - row.nominal) for end in row.sensible)
    return max(low, row.plausible[0]), min(high, row.plausible[1])


def _wrong(row: Parameter, share: float, varies: bool, *, low: bool) -> tuple[Distribution, float]:
    if row.chance is not None:
        return Choice((0.0, 1.0), (1 - min(share, 0.95), min(share, 0.95))), share
    if row.pool or row.words:
        # Of the own shape or any other: the share of episodes that have another.
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
        # What only matters where something is there: anywhere in its sensible range.
        return Uniform(*row.sensible), share
    end = first if (low and both) or last <= row.nominal else last
    sign = -1.0 if both and end == first else 1.0
    return Constant(row.nominal + share * (end - row.nominal)), sign * share

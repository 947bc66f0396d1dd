"""CellConfig: the true parameters of one rehearsal cell, from a file, a name, a seed, or one gap and its magnitude.

Only the cell's own process reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from twinloop.config.section import Section, is_number
from twinloop.config.yaml_file import parse_yaml, read_yaml
from twinloop.deploy.rehearsal.pool import NOMINAL, CellObject, pool_at, read_pool
from twinloop.deploy.rehearsal.truth import BY_GAP, TRUTHS, Range, Truth
from twinloop.errors import UsageError, nearest
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS

SHIPPED = ("nominal", "mild", "hard", "harsh")
MAX_SEED = (1 << 63) - 1

FaultKind = Literal["vanishes", "loses_joint", "clock_jumps"]


@dataclass(frozen=True)
class Fault:
    """A fault of the cell: its kind, its episode, and the control period from which it occurs."""

    kind: FaultKind
    episode: int
    period: int


@dataclass(frozen=True)
class CellConfig:
    """The true parameters of one rehearsal cell.

    Attributes:
        truth: name of a row of the table of truths -> its range.
        pool: the objects of which each episode uses one.
        seed: seed of everything random in the cell, including calibration errors.
        realtime: True: time passes by the wall clock; False: it advances one control period per command or stop.
    """

    name: str
    truth: Mapping[str, Range] = field(default_factory=lambda: {row.name: row.nominal for row in TRUTHS})
    pool: tuple[CellObject, ...] = NOMINAL
    seed: int = 0
    realtime: bool = False
    fault: Fault | None = None


def cell_of(spec: str) -> CellConfig:
    """Return the cell of a spec: `harsh`, `path/to/cell.yaml`, `seed=17`, `gap=latency:0.6` or `gap=...,seed=3`."""
    if "=" in spec and not spec.endswith((".yaml", ".yml")):
        return _drawn(spec)
    if spec in SHIPPED:
        name = f"cells/{spec}.yaml"
        text = files("twinloop.deploy.rehearsal").joinpath(name).read_text(encoding="utf-8")
        return _read(*parse_yaml(text, f"{spec}.yaml (shipped)"), file=f"{spec}.yaml (shipped)", name=spec)
    path = Path(spec)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(
            f"rehearsal:{spec}: no such cell; {nearest(spec, SHIPPED)}; "
            "or a file CELL.yaml, or seed=NUMBER, or gap=GAP:MAGNITUDE"
        )
    return _read(*read_yaml(path), file=str(path), name=path.stem)


def _drawn(spec: str) -> CellConfig:
    words = {word: value for word, _, value in (part.partition("=") for part in spec.split(","))}
    for word in words:
        if word not in ("seed", "gap"):
            raise UsageError(f"rehearsal:{spec}: {word!r} is not known here; {nearest(word, ('seed', 'gap'))}")
    seed = _seed(spec, words.get("seed", "0"))
    if "gap" not in words:
        return from_seed(seed)
    gap, _, magnitude = words["gap"].partition(":")
    if gap not in GAPS:
        raise UsageError(f"rehearsal:{spec}: {gap!r} is not a gap; {nearest(gap, GAPS)}")
    try:
        size = float(magnitude or 1)
    except ValueError:
        size = -1.0
    if not 0 <= size <= 1:
        raise UsageError(f"rehearsal:{spec}: the magnitude is {magnitude!r}; a number from 0 to 1 was expected")
    return opened(CellConfig(name=spec, seed=seed), {gap: size})


def _seed(spec: str, text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_SEED:
        raise UsageError(f"rehearsal:{spec}: the seed is {text!r}; a whole number from 0 on was expected")
    return int(text)


def opened(cell: CellConfig, magnitudes: Mapping[str, float]) -> CellConfig:
    """Return the cell with these gaps opened. All rows of a gap get its magnitude; other rows stay unchanged."""
    truth = dict(cell.truth)
    for row in TRUTHS:
        if row.gap in magnitudes:
            truth[row.name] = row.at(magnitudes[row.gap])
    pool = pool_at(magnitudes["object"]) if "object" in magnitudes else cell.pool
    return replace(cell, truth=truth, pool=pool)


def from_seed(seed: int) -> CellConfig:
    """Return a random cell.

    Each gap is open with probability ½, with a magnitude drawn uniformly from 0 to 1. Each of its rows gets this
    magnitude times a number drawn uniformly from ½ to 1.
    """
    rng = episode_rng(seed, 0, stream="cell")
    cell = CellConfig(name=f"seed={seed}", seed=seed)
    truth, pool = dict(cell.truth), cell.pool
    for gap in GAPS:
        chance, magnitude = rng.random(2)
        shares = rng.uniform(0.5, 1, len(BY_GAP[gap]))
        if chance < 0.5:
            truth |= {row.name: row.at(magnitude * share) for row, share in zip(BY_GAP[gap], shares, strict=True)}
            pool = pool_at(magnitude) if gap == "object" else pool
    return replace(cell, truth=truth, pool=pool)


def _read(value: dict, lines: dict[str, int], *, file: str, name: str) -> CellConfig:
    root = Section(file, "", value, lines)
    cell = CellConfig(
        name=name,
        seed=root.integer("seed", 0, low=0, high=MAX_SEED),
        realtime=root.flag("realtime", False),
        fault=_read_fault(root.section("fault")) if "fault" in root else None,
    )
    cell = opened(cell, _read_magnitudes(root.section("gaps")))
    truth, pool = dict(cell.truth), cell.pool
    for gap, rows in BY_GAP.items():
        section = root.section(gap)
        truth |= {row.name: _read_range(section, row) for row in rows if row.name in section}
        if gap == "object" and "pool" in section:
            pool = read_pool(section)
        for row in rows:  # marks the key as known, so that the error for an unknown key lists it
            section.raw(row.name)
        section.finish()
    root.finish()
    return replace(cell, truth=truth, pool=pool)


def _read_magnitudes(section: Section) -> dict[str, float]:
    magnitudes = {gap: section.number(gap, 0.0, low=0, high=1) for gap in GAPS if gap in section}
    for gap in GAPS:
        section.raw(gap)
    section.finish()
    return magnitudes


def _read_range(section: Section, row: Truth) -> Range:
    value = section.raw(row.name)
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or not all(is_number(end) for end in ends):
        raise section.error(row.name, f"is {value!r}; a number or [low, high] in {row.unit} was expected")
    low, high = map(float, ends)
    lowest, highest = row.plausible
    if low > high:
        raise section.error(row.name, f"is {value!r}; the first must not be larger than the second")
    if low < lowest or high > highest:
        raise section.error(row.name, f"is {value!r}; it must be from {lowest:g} to {highest:g} {row.unit}")
    return low, high


def _read_fault(section: Section) -> Fault:
    fault = Fault(
        kind=section.one_of("kind", "vanishes", {word: word for word in get_args(FaultKind)}),
        episode=section.integer("episode", 0, low=0, high=1 << 30),
        period=section.integer("period", 0, low=0, high=100_000),
    )
    section.finish()
    return fault


def chosen(cell: CellConfig, rng: np.random.Generator) -> dict[str, float]:
    """Draw the value of every column for one episode."""
    values = {}
    for row in TRUTHS:
        low, high = cell.truth[row.name]
        for column in row.columns:
            values[column] = float(rng.uniform(low, high))
    return values

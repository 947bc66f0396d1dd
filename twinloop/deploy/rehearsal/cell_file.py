"""CellConfig: the true parameters of one rehearsal cell, from a file, a name, a seed, or sizes of gaps and effects.

Only the cell's own process reads them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from twinloop.config.compound import Keyed, Listed, Span
from twinloop.config.fields import flag, integer, number, of_kind, text, word
from twinloop.config.kinds import Kind, Number
from twinloop.config.record import Nested, nested, read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml, read_yaml
from twinloop.deploy.rehearsal.cell_name import SCENE_KEYS, CellName, parse_cell_name
from twinloop.deploy.rehearsal.cell_scene import CellScene, scene_of
from twinloop.deploy.rehearsal.effects import EFFECTS, drawn_effects
from twinloop.deploy.rehearsal.pool import MAX_OBJECTS, NOMINAL, CellObject, pool_at
from twinloop.deploy.rehearsal.truth import BY_GAP, TRUTHS, Range
from twinloop.errors import UsageError, nearest
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS, Gap

SHIPPED = ("nominal", "mild", "hard", "harsh")
MAX_SEED = (1 << 63) - 1
POOL = "pool"

FaultKind = Literal["vanishes", "loses_joint", "clock_jumps"]


@dataclass(frozen=True)
class Fault:
    """A fault of the cell: its kind, its episode, and the control period from which it occurs."""

    kind: FaultKind = word("vanishes", words=get_args(FaultKind), help="what happens")
    episode: int = integer(0, low=0, high=1 << 30, help="episode in which it happens")
    period: int = integer(0, low=0, high=100_000, help="control period from which on it happens")


OBJECT_POOL = Listed(
    item=Nested(record=CellObject, short="kind"),
    least=1,
    most=MAX_OBJECTS,
    what="object",
    help="the objects of which each episode uses one",
)


def _rows(gap: Gap, more: Mapping[str, Kind] | None = None) -> Keyed:
    """The section of a gap: a range for each of its truths, and the keys in `more`."""
    rows: dict[str, Kind] = {
        row.name: Span(low=row.plausible[0], high=row.plausible[1], point=True, unit=row.unit, help=row.touches)
        for row in BY_GAP[gap]
    }
    return Keyed(kinds={**rows, **(more or {})}, help=f"truths of the gap {gap}")


@dataclass(frozen=True)
class CellFile:
    """The content of a cell file. Rows that a gap's section gives come after the magnitudes in `gaps`."""

    seed: int = integer(0, low=0, high=MAX_SEED, help="seed of everything random in the cell")
    realtime: bool = flag(False, help="time passes by the wall clock; otherwise by one control period per command")
    fault: Fault | None = nested(Fault, optional=True, help="a fault that the cell shows")
    gaps: dict[str, float] = of_kind(
        Keyed(
            kinds={gap: Number(low=0, high=1) for gap in GAPS},
            help="magnitude of a gap: all its rows go from nominal (0) to worst (1)",
        ),
        default_factory=dict,
    )
    effects: dict[str, float] = of_kind(
        Keyed(
            kinds={effect.name: Number(low=0, high=1) for effect in EFFECTS},
            help="size of an effect that no row of the parameter table describes",
        ),
        default_factory=dict,
    )
    own: float = number(
        1.0, low=0, high=3, unit="×", help="size of the cell's own numbers (masses, lengths, servos), in tolerances"
    )
    robot: str = text("", help="robot of the cell, by name", otherwise="franka_panda")
    task: str = text("", help="task of the cell, by name", otherwise="pick_and_place")
    config: str = text("", help="run config that has robot, task, things, rate and cameras, instead of the two")
    contact: dict[str, Range] = of_kind(_rows("contact"), default_factory=dict)
    visual: dict[str, Range] = of_kind(_rows("visual"), default_factory=dict)
    sensing: dict[str, Range] = of_kind(_rows("sensing"), default_factory=dict)
    object: dict[str, Any] = of_kind(_rows("object", {POOL: OBJECT_POOL}), default_factory=dict)
    environment: dict[str, Range] = of_kind(_rows("environment"), default_factory=dict)
    human: dict[str, Range] = of_kind(_rows("human"), default_factory=dict)
    actuation: dict[str, Range] = of_kind(_rows("actuation"), default_factory=dict)
    latency: dict[str, Range] = of_kind(_rows("latency"), default_factory=dict)


@dataclass(frozen=True)
class CellConfig:
    """The true parameters of one rehearsal cell.

    Attributes:
        truth: name of a row of the table of truths -> its range.
        pool: the objects of which each episode uses one.
        seed: seed of everything random in the cell, including calibration errors and the cell's own numbers.
        engine: the physics engine.
        effects: effect that no row describes -> its size from 0 to 1.
        own: size of the cell's own numbers, in tolerances; at 0 the robot is exactly that of the twin.
        realtime: True: time passes by the wall clock; False: it advances one control period per command or stop.
    """

    name: str
    truth: Mapping[str, Range] = field(default_factory=lambda: {row.name: row.nominal for row in TRUTHS})
    pool: tuple[CellObject, ...] = NOMINAL
    seed: int = 0
    scene: CellScene = field(default_factory=CellScene)
    engine: str = "drake"
    effects: Mapping[str, float] = field(default_factory=dict)
    own: float = 1.0
    realtime: bool = False
    fault: Fault | None = None


def cell_of(spec: str) -> CellConfig:
    """Return the cell of a name without `rehearsal:`, see `cell_name.py`."""
    name = parse_cell_name(spec)
    words = name.words
    where = f"rehearsal:{spec}"
    seed = _seed(where, words["seed"]) if "seed" in words else None
    if name.cell:
        cell = _stored(name, where)
        cell = cell if seed is None else replace(cell, seed=seed)
    elif {"gap", "effect"} & set(words):
        cell = CellConfig(name=spec, seed=seed or 0)
    else:
        cell = from_seed(seed or 0)
    if set(words) & set(SCENE_KEYS):
        cell = replace(cell, scene=scene_of(words, where=where))
    gaps = _sizes(where, words["gap"], "gap", GAPS) if "gap" in words else {}
    effects = _sizes(where, words["effect"], "effect", [effect.name for effect in EFFECTS]) if "effect" in words else {}
    cell = replace(cell, engine=name.engine, effects={**cell.effects, **effects})
    if "own" in words:
        cell = replace(cell, own=_number(where, words["own"], "own", most=3.0))
    return opened(cell, gaps) if gaps else cell


def _stored(name: CellName, where: str) -> CellConfig:
    """Return the cell of a file, shipped or given by path."""
    if name.cell in SHIPPED:
        file = f"{name.cell}.yaml (shipped)"
        text = files("twinloop.deploy.rehearsal").joinpath(f"cells/{name.cell}.yaml").read_text(encoding="utf-8")
        return _read(*parse_yaml(text, file), file=file, name=name.cell, folder=Path())
    path = Path(name.cell)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(
            f"{where}: no such cell; {nearest(name.cell, SHIPPED)}; "
            "or a file CELL.yaml, or seed=NUMBER, or gap=GAP:MAGNITUDE, or effect=EFFECT:SIZE"
        )
    return _read(*read_yaml(path), file=str(path), name=path.stem, folder=path.parent)


def _sizes(where: str, text: str, key: str, known: Sequence[str]) -> dict[str, float]:
    """Return gap or effect -> size of a text such as `latency:0.6+contact:0.3`. A missing size is 1."""
    sizes = {}
    for part in text.split("+"):
        name, _, size = part.partition(":")
        if name not in known:
            raise UsageError(
                f"{where}: {name!r} is not {'an' if key[0] in 'aeiou' else 'a'} {key}; {nearest(name, known)}"
            )
        sizes[name] = _number(where, size or "1", "magnitude", most=1.0)
    return sizes


def _number(where: str, text: str, what: str, *, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise UsageError(f"{where}: the {what} is {text!r}; a number from 0 to {most:g} was expected")
    return value


def _seed(where: str, text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_SEED:
        raise UsageError(f"{where}: the seed is {text!r}; a whole number from 0 on was expected")
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
    magnitude times a number drawn uniformly from ½ to 1. Effects that no row describes: see `drawn_effects`.
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
    return replace(cell, truth=truth, pool=pool, effects=drawn_effects(rng))


def _read(value: dict, lines: dict[str, int], *, file: str, name: str, folder: Path) -> CellConfig:
    given = read_record(CellFile, Section(file, "", value, lines))
    config = str(folder / given.config) if given.config else ""
    scene = scene_of({"robot": given.robot, "task": given.task, "config": config}, where=file)
    cell = CellConfig(
        name=name, seed=given.seed, realtime=given.realtime, fault=given.fault, scene=scene, effects=given.effects,
        own=given.own,
    )  # fmt: skip
    cell = opened(cell, given.gaps)
    rows = {key: value for gap in GAPS for key, value in getattr(given, gap).items()}
    pool = rows.pop(POOL, cell.pool)
    return replace(cell, truth={**cell.truth, **rows}, pool=pool)


def chosen(cell: CellConfig, rng: np.random.Generator) -> dict[str, float]:
    """Draw the value of every column for one episode."""
    values = {}
    for row in TRUTHS:
        low, high = cell.truth[row.name]
        for column in row.columns:
            values[column] = float(rng.uniform(low, high))
    return values

"""Simulated robots with known truth: the twin with other rows, and with the differences of another engine.

A rehearsal cell costs half a CPU minute, a simulated robot half a second. The policy is rolled out in the twin with
some rows changed. Then the traits of the episodes are shifted by the difference that was measured between the twin and
a rehearsal cell of another engine in which no gap is open (`engine_spread.json`), so that a diagnosis meets
differences that no row explains. The spread that the diagnosis uses is that of the other cells.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from twinloop.diagnose.counterfactuals import CounterfactualJob, simulate_counterfactuals
from twinloop.diagnose.engine_spread import EngineSpread, spread_of
from twinloop.diagnose.hypothesis import Hypothesis, rows_of
from twinloop.diagnose.hypothesis_set import causes_in, chunks_of, scene_features
from twinloop.diagnose.summary import ENTRIES
from twinloop.randomize.distribution import Choice, Constant, Distribution, Uniform
from twinloop.randomize.parameter import GAPS, Gap, Parameter
from twinloop.randomize.uses import CellTruth
from twinloop.run.config import RunConfig, inapplicable_rows

Range = tuple[float, float]
MAX_CAUSE_SIZE = 2.5
EPISODES_APART = 1_000
"""The episodes of a simulated robot have other scenes than those of a bank."""


@dataclass(frozen=True)
class SimulatedRobot:
    """A robot with known truth.

    Attributes:
        gaps: the open gaps.
        truth: row -> range in this robot, for rows that differ from the twin.
        engine: cell of `engine_spread.json` whose difference is added.
        traits: (episodes, traits) of the policy.
    """

    name: str
    gaps: tuple[Gap, ...]
    truth: Mapping[str, Range]
    engine: str
    traits: np.ndarray


def engine_cells() -> list[dict[str, Any]]:
    """Cells of the stored spread."""
    text = files("twinloop.diagnose").joinpath("engine_spread.json").read_text(encoding="utf-8")
    return json.loads(text)["cells"]


def spread_without(name: str, robot: str) -> EngineSpread:
    """The spread for a robot without the cell of this name."""
    return spread_of([cell for cell in engine_cells() if cell["cell"] != name], robot)


def simulated_robots(
    config: RunConfig, job: CounterfactualJob, *, count: int, cells: Sequence[dict[str, Any]], seed: int
) -> list[SimulatedRobot]:
    """Draw robots, roll out the policy, and add the differences of `cells`, which are cells of the same robot.

    A third of the robots have all rows of a gap wrong by the same share, as rehearsal cells do; a third have one to
    three rows of a gap wrong; the others have rows of two gaps wrong, and a few have none.
    """
    rng = np.random.default_rng(seed)
    drawn = [_draw(config, number, rng) for number in range(count)]
    hypotheses = [Hypothesis(None, 0.0, ranges, {}) for _, ranges in drawn]
    job = replace(job, seed=job.seed + EPISODES_APART + seed, paired=False)
    traits: dict[int, np.ndarray] = {}
    for chunk, simulated in simulate_counterfactuals(job, chunks_of(hypotheses, episodes=job.episodes)):
        traits |= {number: cell.traits for number, cell in zip(chunk.numbers, simulated, strict=True)}
    return [
        SimulatedRobot(
            f"{seed}-{number}-{'+'.join(gaps) or 'none'}",
            gaps,
            {name: _range(distribution) for name, distribution in ranges.items()},
            cells[number % len(cells)]["cell"],
            shifted(traits[number], cells[number % len(cells)]["entries"]),
        )
        for number, (gaps, ranges) in enumerate(drawn)
    ]


def shifted(traits: np.ndarray, differences: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    """(episodes, traits) with the difference of every level added, except shares of episodes and outcomes."""
    out = traits.copy()
    for entry in ENTRIES:
        about = entry.about
        if entry.spread or about.outcome or about.unit == "1" or entry.name not in differences:
            continue
        values = about.scaled(traits[:, entry.trait]) + differences[entry.name]["difference"]
        out[:, entry.trait] = np.exp(values) - about.resolution if about.log else values
    return out


def _draw(config: RunConfig, number: int, rng: np.random.Generator) -> tuple[tuple[Gap, ...], dict[str, Distribution]]:
    one, other = rng.choice(len(GAPS), size=2, replace=False)
    kind = number % 12
    if kind == 11:
        return (), {}
    gaps: tuple[Gap, ...] = (GAPS[one],) if kind < 8 else (GAPS[one], GAPS[other])
    ranges: dict[str, Distribution] = {}
    for gap in gaps:
        ranges |= _whole_gap(config, gap, rng.uniform(0.4, 1.0)) if kind % 2 else _some_rows(config, gap, rng)
    return tuple(gap for gap in gaps if ranges), ranges


def _some_rows(config: RunConfig, gap: Gap, rng: np.random.Generator) -> dict[str, Distribution]:
    causes = [cause for cause in causes_in(config) if cause.gap == gap and not cause.element and not cause.worse]
    chosen = rng.permutation(len(causes))[: rng.integers(1, 4)]
    ranges: dict[str, Distribution] = {}
    for place in chosen:
        size = rng.uniform(0.3, min(MAX_CAUSE_SIZE, causes[place].max_size))
        ranges.setdefault(causes[place].row, causes[place].distribution(size))
    return ranges


def _whole_gap(config: RunConfig, gap: Gap, magnitude: float) -> dict[str, Distribution]:
    """All rows of a gap whose truth in a rehearsal cell has the row's name and unit, at the same magnitude."""
    absent = inapplicable_rows(config.scene.world)
    rows = [row for row in rows_of(gap, **scene_features(config)) if row.name not in absent and row.truth is not None]
    ranges = {row.name: _opened(row, row.truth, magnitude) for row in rows if row.truth is not None and _alike(row)}
    return {name: distribution for name, distribution in ranges.items() if distribution is not None}


def _alike(row: Parameter) -> bool:
    truth = row.truth
    return truth is not None and (truth.name or row.name) == row.name and (truth.unit or row.unit) == row.unit


def _opened(row: Parameter, truth: CellTruth, magnitude: float) -> Distribution | None:
    nominal, worst = (
        end if isinstance(end, tuple) else (end, end)
        for end in (row.nominal if truth.nominal is None else truth.nominal, truth.worst)
    )
    low, high = sorted(float(a + magnitude * (b - a)) for a, b in zip(nominal, worst, strict=True))
    low, high = max(low, row.plausible[0]), min(high, row.plausible[1])
    if row.words or row.pool:
        return None
    if row.chance is not None:
        return Choice((0.0, 1.0), (1 - high, high)) if 0 < high < 1 else None
    return Uniform(low, high) if low < high else Constant(low)


def _range(distribution: Distribution) -> Range:
    """(low, high) of a distribution; the share of an event twice."""
    if isinstance(distribution, Choice) and distribution.values == (0.0, 1.0):
        share = float(distribution.weights[1] / sum(distribution.weights))
        return share, share
    low, high = distribution.support()
    return float(low), float(high)

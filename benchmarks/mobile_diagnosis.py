"""Diagnosis of robots with legs or wheels: is the open gap named in cells in which one is open?

    python benchmarks/mobile_diagnosis.py --policy policies/legs/walk --json results.json
    python benchmarks/mobile_diagnosis.py --policy policies/wheels/tuned --config examples/diff_drive.yaml
    python benchmarks/mobile_diagnosis.py --policy policies/legs/walk --drake 6

A cell is a robot in the engine of the twin (or in Drake, for legs) with rows of its own: one row of one gap is far from
the twin's value, and every other row is off by up to a tenth of its sensible range. The diagnosis gets 16 recorded
episodes of the policy, as from a runlog, and the bank of counterfactuals. Cells 0, 1, 2, ... of a seed take the four
gaps in turn; every fifth cell has no open gap. `--seed` below 9600 is for working; the default is for the figure, once.

Some rows change next to nothing: a motor that is never at its limit may be half as strong. A cell is called visible if
the policy fails in it more often than in the twin, or if its open row changes the traits by more than four standard
deviations of what 16 episodes and small errors of all rows change.
"""

import argparse
import json
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import fisher_exact

import twinloop as tl
from twinloop.curate.rates import Rate
from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.causes import Cause, hypothesis_of
from twinloop.diagnose.counterfactuals import CounterfactualJob
from twinloop.diagnose.diagnosis import Diagnosis, diagnose_traits
from twinloop.diagnose.emulator import Emulator, emulator_of
from twinloop.diagnose.engine_spread import measured_difference
from twinloop.diagnose.hypothesis_set import MOBILE_TOLERANCE, Chunk, causes_in, chunk_of
from twinloop.diagnose.likelihood import EntryLikelihood
from twinloop.diagnose.make_bank import bank_key, make_bank
from twinloop.diagnose.mobile_counterfactuals import changed_cells, simulate_mobile, traces_of
from twinloop.diagnose.summary import SUCCESS, summarise
from twinloop.diagnose.traits import measure_traits, mobile_model
from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.mobile_rollout import mobile_rollout
from twinloop.gate.mobile_rollouts import policy_act
from twinloop.learn.candidate import Candidate, candidate_of
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.parameter import GAPS, Gap
from twinloop.run.mobile import MobileConfig
from twinloop.run.walk import WalkConfig

EXAMPLE = Path(__file__).parents[1] / "examples" / "quadruped.yaml"
FIGURE_SEED, BANK_SEED = 9_600, 2_000_003
TOLD_APART: tuple[Gap, ...] = ("actuation", "latency", "contact", "sensing")
LEVELS, EPISODES = 3, 16
TOLERANCE = 0.1
VISIBLE, COSTLY_P = 4.0, 0.05
"""Least change of the traits in a visible cell, in standard deviations, or the highest p-value of its lost success."""
SIZES = (1.0, 2.5)
"""Range of the open row's size; 1 is the end of the config's range."""


@dataclass(frozen=True)
class Cell:
    """A robot whose rows differ from the twin's. gap: the open one, or ""."""

    gap: str
    row: str
    value: float
    parts: tuple[tuple[Cause, float], ...]


def cell_of(config: MobileConfig, seed: int, number: int) -> Cell:
    rng = np.random.default_rng([seed, number])
    causes = causes_in(config)
    gap = "" if number % 5 == 4 else TOLD_APART[number % 5]
    by_row: dict[tuple[str, str], list[Cause]] = {}
    for cause in causes:
        if cause.side in ("low", "high"):
            by_row.setdefault((cause.row, cause.element), []).append(cause)
    off = [(sides[rng.integers(len(sides))], float(rng.uniform(0, TOLERANCE))) for sides in by_row.values()]
    if not gap:
        return Cell("", "", 0.0, tuple(off))
    # A row of the gap first, then one of its sides: gaps with many elements are not all biases of the IMU.
    rows = sorted({cause.row for cause in causes if cause.gap == gap and cause.side in ("low", "high")})
    row = rows[rng.integers(len(rows))]
    sides = [cause for cause in causes if cause.row == row and cause.side in ("low", "high")]
    cause = sides[rng.integers(len(sides))]
    size = min(float(rng.uniform(*SIZES)), cause.max_size)
    parts = [part for part in off if (part[0].row, part[0].element) != (cause.row, cause.element)]
    return Cell(gap, cause.name, cause.value(size), ((cause, size), *parts))


def traits_in(cell: Cell, job: CounterfactualJob, config: MobileConfig, *, drake: bool) -> np.ndarray:
    """(episodes, traits) of the policy in a cell, in the twin's engine or in Drake."""
    chunk = chunk_of(hypothesis_of(cell.parts))
    if not drake:
        ((_, (result,)),) = simulate_mobile(job, [chunk])
        return result.traits
    from twinloop.deploy.rehearsal.drake_walk import DrakeWalkEngine

    assert isinstance(config, WalkConfig)
    changed, draws = changed_cells(job, config, chunk)
    assert isinstance(changed, WalkConfig)
    width = job.episodes
    robot = LegsEmbodiment(
        changed, width=width, seed=job.seed, physics=lambda twin, width: DrakeWalkEngine(twin, width=width)
    )
    episodes = mobile_rollout(robot, policy_act(robot, job.load()), 0, record=True, draws=draws)
    return measure_traits(traces_of(episodes, mobile_model(robot.twin)))


def _simulated(job: CounterfactualJob, chunk: Chunk) -> tuple[Chunk, list[CounterfactualCell]]:
    torch.set_num_threads(1)
    ((_, cells),) = simulate_mobile(job, [chunk])
    return chunk, cells


def bank_of(
    candidate: Candidate, config: MobileConfig, cache: Path, *, levels: int, episodes: int, workers: Executor
) -> Bank:
    job = CounterfactualJob(
        config.to_yaml(), str(Path.cwd()), candidate.load, ActingConfig(), episodes, BANK_SEED, paired=True
    )
    size: dict[str, Any] = {"levels": levels, "episodes": episodes, "seed": BANK_SEED}
    key = bank_key(policy=candidate.digest, config=config, cameras=(), acting={}, **size)
    return make_bank(
        config, lambda chunks: workers.map(partial(_simulated, job), chunks), folder=cache / f"bank-{key}", **size
    )


@dataclass(frozen=True)
class Study:
    """Values that all cells of a run share."""

    config: MobileConfig
    candidate: Candidate
    emulator: Emulator
    episodes: int
    seed: int
    drake: bool

    def run(self, number: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """(the result of a cell, its differences from the twin if it has no open gap)."""
        torch.set_num_threads(1)
        config, cell = self.config, cell_of(self.config, self.seed, number)
        job = CounterfactualJob(
            config.to_yaml(), str(Path.cwd()), self.candidate.load, ActingConfig(), self.episodes, self.seed + number
        )
        traits = traits_in(cell, job, config, drake=self.drake)
        spread = None if cell.gap else {
            "cell": f"{'drake' if self.drake else 'twin'}:{config.scene.robot.name},seed={self.seed}",
            "episodes": self.episodes,
            "entries": measured_difference(summarise(self.emulator.adjusted(traits)), self.emulator.reference),
        }  # fmt: skip
        return judged(diagnose_traits(traits, self.emulator, seed=0, tolerance=MOBILE_TOLERANCE), cell), spread


def change_of(diagnosis: Diagnosis, cell: Cell) -> float:
    """Effect of the open row of a cell alone, in standard deviations of all traits together."""
    emulator, observed = diagnosis.emulator, diagnosis.observed
    if not cell.gap:
        return 0.0
    entries = EntryLikelihood(emulator, observed)
    cause, size = cell.parts[0]
    sizes = np.array([size if other == cause else 0.0 for other in emulator.causes])
    change = emulator.at(sizes)[0][observed.known]
    noise = entries.noise(np.array([diagnosis.explanations.engine_scale]))[0]
    rest, variance, shared = entries.without_shared(change, noise)
    _, _, unchanged = entries.without_shared(np.zeros_like(change), noise)
    return float(np.sqrt((np.square(rest) / variance).sum() + 2 * (unchanged - shared)))


def loses(diagnosis: Diagnosis) -> bool:
    """Whether the policy fails more often than in the twin (Fisher's exact test, one-sided)."""
    reference = diagnosis.emulator.reference
    won = round(float(reference.values[SUCCESS]) * reference.episodes)
    rate = diagnosis.success
    table = [[rate.successes, rate.trials - rate.successes], [won, reference.episodes - won]]
    return bool(fisher_exact(table, alternative="less").pvalue < COSTLY_P)  # pyright: ignore[reportAttributeAccessIssue]


def judged(diagnosis: Diagnosis, cell: Cell) -> dict[str, Any]:
    """Result of the diagnosis of a cell: probability that each gap differs, and its cost in points."""
    sizes, gaps = diagnosis.explanations.sizes, diagnosis.emulator.gaps
    differs = {
        gap: float((sizes[:, [place for place, item in enumerate(gaps) if item == gap]] > 0).any(axis=1).mean())
        for gap in GAPS if gap in gaps
    }  # fmt: skip
    size = {
        gap: float(sizes[:, [place for place, item in enumerate(gaps) if item == gap]].max(axis=1).mean())
        for gap in GAPS if gap in gaps
    }  # fmt: skip
    cost: dict[str, float] = dict(zip(GAPS, (100 * diagnosis.costs.mean).round(1).tolist(), strict=False))
    # As in a report: costly gaps by cost, then the others by how far they are open (`report.by_cost`).
    opened = {gap: min(size[gap], differs[gap]) for gap in differs}
    order = sorted(differs, key=lambda gap: (-cost[gap] if cost[gap] >= 2 else 0.0, -opened[gap]))
    return {
        "open": cell.gap, "row": cell.row, "value": round(cell.value, 4),
        "success": [diagnosis.success.successes, diagnosis.success.trials], "first": order[0], "second": order[1],
        "change_sd": (change := round(change_of(diagnosis, cell), 2)),
        "visible": bool(cell.gap) and (change > VISIBLE or loses(diagnosis)),
        "differs": {gap: round(value, 3) for gap, value in differs.items()},
        "size": {gap: round(value, 3) for gap, value in size.items()},
        "points": {gap: value for gap, value in cost.items() if value > 0.5},
    }  # fmt: skip


def tally(cells: list[dict[str, Any]]) -> dict[str, Any]:
    opened, empty = [cell for cell in cells if cell["open"]], [cell for cell in cells if not cell["open"]]
    visible = [cell for cell in opened if cell["visible"]]
    pairs = [(cell, gap) for cell in cells for gap in TOLD_APART if gap != cell["open"]]

    def share(of: list[dict[str, Any]], *names: str) -> Rate:
        return Rate(sum(cell["open"] in [cell[name] for name in names] for cell in of), len(of))

    rates = {
        "first": share(opened, "first"),
        "first_two": share(opened, "first", "second"),
        "visible_first": share(visible, "first"),
        "visible_named": Rate(sum(cell["differs"][cell["open"]] > 0.5 for cell in visible), len(visible)),
        "false_alarms": Rate(sum(cell["differs"][gap] > 0.5 for cell, gap in pairs), len(pairs)),
        "mean_size_above_half": Rate(sum(cell["size"][gap] > 0.5 for cell, gap in pairs), len(pairs)),
    }
    by_gap = {
        gap: [sum(cell["first"] == gap for cell in opened if cell["open"] == gap),
              sum(cell["open"] == gap for cell in opened)]
        for gap in TOLD_APART
    }  # fmt: skip
    return {
        name: {"hits": rate.successes, "of": rate.trials, "low": rate.interval[0], "high": rate.interval[1]}
        for name, rate in rates.items() if rate.trials
    } | {"by_gap": by_gap, "empty_cells": len(empty)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=EXAMPLE)
    parser.add_argument("--cache", type=Path, default=Path("diagnoses/banks"))
    parser.add_argument("--seed", type=int, default=FIGURE_SEED, help="of the cells")
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--drake", type=int, default=0, metavar="N", help="N cells in Drake instead")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of each cell, and of those of the bank")
    parser.add_argument("--levels", type=int, default=LEVELS, help="sizes of each cause in the bank")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--spread", type=Path, help="write the differences of empty cells from the twin to this file")
    parser.add_argument("--json", type=Path, help="add the results to this file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    config = tl.load_config(args.config)
    assert isinstance(config, MobileConfig)
    candidate, cells, spread = candidate_of(args.policy), [], []
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as workers:
        bank = bank_of(candidate, config, args.cache, levels=args.levels, episodes=args.episodes, workers=workers)
        study = Study(config, candidate, emulator_of(bank), args.episodes, args.seed, bool(args.drake))
        for number, (result, difference) in enumerate(workers.map(study.run, range(args.drake or args.cells))):
            cells.append(result)
            spread += [difference] if difference else []
            print(json.dumps({"number": number} | result), flush=True)
    results = {
        "policy": candidate.digest, "robot": config.scene.robot.name, "engine": "drake" if args.drake else "mujoco",
        "seed": args.seed, "episodes": args.episodes, "levels": args.levels,
        "tally": tally(cells), "cells": cells,
    }  # fmt: skip
    print(json.dumps(results["tally"], indent=1))
    if args.spread:
        args.spread.write_text(json.dumps({"cells": spread}, indent=1) + "\n", encoding="utf-8")
    if args.json:
        known = json.loads(args.json.read_text(encoding="utf-8")) if args.json.exists() else {}
        known[f"{results['robot']}/{results['engine']}"] = results
        args.json.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

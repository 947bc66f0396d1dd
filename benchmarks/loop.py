"""Measure how many real demonstrations each strategy of the loop needs: the study behind docs/loop_study.md.

    python benchmarks/loop.py --prepare [--seed 1]                           # train the first policies
    python benchmarks/loop.py --screen [--cells figure] [--minutes 15]       # choose cells by the rule
    python benchmarks/loop.py --run [--cells figure] [--minutes 15]          # run the next parts, in order
    python benchmarks/loop.py --run --cell 9000 --strategy blind --seed 1    # run one part
    python benchmarks/loop.py --tally [--cells figure]                       # table, tests and plot

`loop_cells.py` has the cells and the rule by which they are chosen. A part is a cell, a seed and a strategy. Those of
held-out cells have a result file each in benchmarks/results/loop/. A stopped part continues. All strategies have
the same budgets (`SCHEDULE`, nested), policy (which reads raw readings), demonstrator and scenes:

1. `diagnose`: every diagnosis decides ranges and demonstrations;
2. `adr`: automatic domain randomization of every row, and real demonstrations;
3. `blind`: the first ranges, and real demonstrations;
4. `real`: real demonstrations only;
5. `wide`: simulation with wide randomization (`randomization: realistic`) only.

A strategy ends with the first policy that reaches `TARGET`; this policy is tested again in the scenes of the largest
budget. Strategies share what is the same for all of them: the first policy and its trials, its bank of counterfactuals,
and demonstrations without conditions. Two processes may run at the same time; each takes parts of other scenes. The
seeds of a cell differ in simulated data and training; they have the same scenes and demonstrations. Tests therefore
take scenes, not trials, as independent.
"""

import argparse
import fcntl
import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loop_cells import CELLS_PER_SCENE, FIGURE_SEEDS, SCENES, WORK_SEEDS, Cell, candidate, passes, results_of
from loop_parts import STRATEGIES, Part, screen
from loop_tally import tally

RESULTS = Path(__file__).parent / "results" / "loop"
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
SEEDS = (1, 2)
MOST_CANDIDATES = 36


def screened(folder: Path, seeds: range) -> tuple[list[Cell], list[Cell]]:
    """(chosen cells, candidates that are still to be screened), by the rule of `loop_cells.py`."""
    chosen: dict[str, list[Cell]] = {scene.name: [] for scene in SCENES}
    missing: list[Cell] = []
    for seed in seeds[:MOST_CANDIDATES]:
        cell = candidate(seed, seeds)
        cells = chosen[cell.scene.name]
        taken = sum(other.engine == cell.engine for other in cells)
        if taken == CELLS_PER_SCENE // len(cell.scene.engines) or any(other.scene == cell.scene for other in missing):
            continue
        file = results_of(folder, cell, 0, "screen")
        if not file.exists():
            missing.append(cell)
        elif json.loads(file.read_text())["chosen"]:
            cells.append(cell)
    # Cells in which a strategy is compared first in all scenes, then the second of each scene.
    ordered = [cells[turn] for turn in range(CELLS_PER_SCENE) for cells in chosen.values() if turn < len(cells)]
    return ordered, missing


def parts(cells: list[Cell], out: Path) -> Iterator[Part]:
    """All parts in the order in which they are run: a cell has all its strategies before the next begins."""
    for seed in SEEDS:
        for cell in cells:
            for strategy in STRATEGIES:
                yield Part(cell, seed, strategy, out)


@contextmanager
def only_one(file: Path) -> Iterator[bool]:
    """Whether no other process holds the lock. Parts of one scene share files, so one process at a time runs them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def cpu_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def write(file: Path, content: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", action="store_true", help="train the first policies of all scenes")
    parser.add_argument("--screen", action="store_true", help="choose cells")
    parser.add_argument("--run", action="store_true", help="run parts")
    parser.add_argument("--tally", action="store_true", help="print what the parts show, and write the plot")
    parser.add_argument("--cells", choices=("work", "figure"), default="figure")
    parser.add_argument("--cell", type=int, help="only the cell with this seed, chosen or not")
    parser.add_argument("--strategy", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--seed", type=int, nargs="+", default=SEEDS, choices=SEEDS)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no part after this time")
    parser.add_argument("--out", type=Path, default=Path("out/loop"))
    args = parser.parse_args()
    figure, began = args.cells == "figure", time.time()
    seeds, folder = (FIGURE_SEEDS, RESULTS) if figure else (WORK_SEEDS, args.out / "results")

    def in_time() -> bool:
        return time.time() - began < 60 * args.minutes

    for scene in reversed(SCENES) if args.prepare else ():
        cell = next(cell for cell in (candidate(seed, seeds) for seed in seeds) if cell.scene == scene)
        for strategy in ("blind", "wide"):
            for seed in args.seed:
                before = cpu_s()
                rate = Part(cell, seed, strategy, args.out).first_success()
                print(f"{scene.name} {strategy} {seed}: {rate} in the twin, {cpu_s() - before:.0f} CPU s", flush=True)
    while args.screen and in_time():
        _, missing = screened(folder, seeds)
        if not missing:
            break
        cell = missing[0]
        result = screen(cell, args.out)
        chosen = passes(result["demonstrator"], result["wide"])
        write(results_of(folder, cell, 0, "screen"), result | {"chosen": chosen})
        print(f"{cell.name}: {result}", flush=True)
    cells = [candidate(args.cell, seeds)] if args.cell else screened(folder, seeds)[0]
    for part in parts(cells, args.out) if args.run else ():
        file = results_of(folder, part.cell, part.seed, part.strategy)
        if part.strategy not in args.strategy or part.seed not in args.seed:
            continue
        with only_one(args.out / f"{part.cell.scene.name}.lock") as alone:
            if not alone or file.exists() or not in_time():
                continue
            before = cpu_s()
            result = part.run(lambda text: print(text, flush=True))
            write(file, result | {"cpu_s": round(cpu_s() - before, 1)})
    if args.tally:
        tally(folder, folder.with_suffix(".json"), PICTURES if figure else args.out)


if __name__ == "__main__":
    main()

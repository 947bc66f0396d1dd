"""Measure the scripted expert on every task with every robot: accepted episodes, with intervals, and their cost.

    python benchmarks/tasks.py [--tasks stack,pour|all] [--robots franka_panda|all] [--episodes 24] [--workers 2]

Each cell of the table is simulated under the default ranges below and under `randomization: realistic`. A cell is
written to benchmarks/results/tasks.json as it ends, so a stopped run continues. Cells that are there stay, with the
seed that they were measured with; `--again` measures the named cells once more. `--minutes` ends a run after the first
cell that ends later than that. `--seed` is for work on a task: its cells are printed and not written.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from task_causes import causes

from twinloop.cli.arguments import names_of
from twinloop.curate.intervals import wilson
from twinloop.curate.judge import judge
from twinloop.errors import TwinloopError
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.robots import robots
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit
from twinloop.twin.tasks import tasks

RESULTS = Path(__file__).parent / "results" / "tasks.json"
RANGES = {
    "default": """
randomization:
  physics:
    object_position_noise_cm: [-2, 2]
    object_yaw_deg: [-45, 45]
    object_mass_kg: [{light}, {heavy}]
    friction_coefficient: [0.4, 1.0]
    target_position_noise_cm: [-3, 3]
  environment: {{fixture_position_noise_cm: [-1.5, 1.5], fixture_yaw_deg: [-5, 5]}}
""",
    "realistic": "\nrandomization: realistic\n",
}
MASS_KG = (0.05, 0.3)
"""Default range. A task with a range of its own limits it: a sheet of 10 x 10 x 0.6 cm cannot weigh 0.3 kg."""
SEEDS = {"default": 60_000, "realistic": 61_000}
"""Not seeds that tasks were worked on with. Cells with other seeds are of tasks that have not changed since."""
SEEDS_AGAIN = {
    "fetch": {"default": 62_000, "realistic": 63_000},
    "pour": {"default": 62_000, "realistic": 63_000},
    "bin_picking": {"default": 64_000, "realistic": 65_000},
    "peg_insertion": {"default": 60_000, "realistic": 81_000},
    "plug_in": {"default": 60_000, "realistic": 81_000},
    "stack": {"default": 60_000, "realistic": 81_000},
}
"""Tasks that were measured again: all were corrected after those seeds had shown a fault of theirs, and `bin_picking`
later with 64 instead of 16 episodes a cell, for all robots, because 16 did not tell whether it reaches its goal.
`realistic` of the last three varies one row less than before."""
LATEST = {"default": 80_000, "realistic": 81_000}
SEEDS_OF_ROBOT = {"so101": LATEST, "mobile_panda": LATEST}
"""Robots that do all tasks in another way since the other seeds had been measured."""
MENDED = ("clear_table", "peg_insertion", "place_upright", "plug_in", "put_on_shelf", "sort_by_shape")
SEEDS_OF_CELL = {("so101", task): {"default": 82_000, "realistic": 83_000} for task in MENDED}
"""`LATEST` had shown two faults of the changes in these cells, which were mended."""
BELOW = (
    *(("mobile_panda", task) for task in ("place_upright", "pour")),
    *(("so101", task) for task in ("clear_table", "place_upright")),
)
CHANGED = ("handover", "lay_cloth", "push_to_goal")
NEWEST = {"default": 84_000, "realistic": 85_000}
SEEDS_OF_CELL |= {(robot, task): NEWEST for task in CHANGED for robot in robots()}
SEEDS_OF_CELL |= dict.fromkeys(BELOW, NEWEST)
SEEDS_OF_CELL |= {(robot, "lay_cloth"): NEWEST | {"default": 86_000} for robot in robots()}
"""Cells that were below their goal under `realistic`, and the other cells of tasks that were changed for that, measured
with `--episodes 64 --again`. The causes were looked for with seeds 900 and 901. `lay_cloth` under the
default ranges was measured again when these had got the task's own masses."""
GOALS = {"default": 0.9, "realistic": 0.8}
"""Share of accepted episodes that a cell is to reach."""
SLOW = {"lay_cloth": 16, "pour": 16}
"""Episodes of tasks whose physics costs much, at most; robots of `SEEDS_OF_ROBOT` have all."""


def ranges_of(task: Task, ranges: str) -> str:
    """The section `randomization` of a cell, as YAML."""
    own = task.own_ranges.get("object_mass_kg", MASS_KG)
    return RANGES[ranges].format(light=max(own[0], MASS_KG[0]), heavy=min(own[1], MASS_KG[1]))


def measured(robot: str, task: str, ranges: str, episodes: int, seed: int) -> dict[str, Any]:
    """One cell of the table."""
    text = f"scene: {{robot: {robot}, task: {task}}}\nrollout: {{seed: {seed}}}{ranges_of(tasks()[task], ranges)}"
    try:
        config = config_from_text(text, name=f"{robot}-{task}", folder=Path())
        twin = twin_of(config)
    except TwinloopError as error:
        return {"impossible": str(error)}
    width = min(episodes, 64)
    cell, expert = Cell(twin, width=width), Expert(twin, config.expert, width=width, seed=seed)
    begun = time.process_time()
    (made,) = rollout(cell, iter([config.sampler().draw(0, episodes)]), expert, seed=seed)
    cpu_s = time.process_time() - begun
    verdicts = judge(made, twin, config.curate)
    accepted = int(verdicts.accepted.sum())
    low, high = (float(end) for end in wilson(accepted, episodes))
    reasons = Counter(reason for reason in verdicts.reasons if reason != "accepted")
    failures = Counter(name for name in verdicts.failures if name)
    below = accepted < GOALS[ranges] * episodes
    cause = {"cause": causes(made, twin, np.asarray(verdicts.accepted))} if below else {}
    return {
        "episodes": episodes, "accepted": accepted, "low": round(low, 4), "high": round(high, 4),
        "succeeded": int(made.success.sum()), "rejected": dict(reasons.most_common(3)),
        "failures": dict(failures.most_common(3)), "seconds": round(float(made.lengths.mean()) / twin.control_hz, 2),
        "cpu_ms": round(1000 * cpu_s / episodes, 1), "seed": seed, **cause,
    }  # fmt: skip


def cells(arguments: argparse.Namespace, known: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for robot in names_of(arguments.robots, robots(), "--robots"):
        for task in names_of(arguments.tasks, tasks(), "--tasks"):
            if unfit(tasks()[task], robots()[robot]):
                continue
            for ranges in RANGES if arguments.ranges == "all" else (arguments.ranges,):
                if arguments.again or f"{robot}/{task}/{ranges}" not in known:
                    yield robot, task, ranges


def known_cells() -> dict[str, Any]:
    return json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="all")
    parser.add_argument("--robots", default="all")
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--ranges", choices=["all", *RANGES], default="all")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    trial = arguments.seed is not None
    known, begun = {} if trial else known_cells(), time.monotonic()
    remaining = cells(arguments, dict(known))
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as pool:
        pending = {}
        while True:
            free = arguments.workers - len(pending) if time.monotonic() - begun < 60 * arguments.minutes else 0
            for cell in islice(remaining, free):
                most = arguments.episodes if cell[0] in SEEDS_OF_ROBOT else SLOW.get(cell[1], arguments.episodes)
                episodes = min(arguments.episodes, most)
                seeds = SEEDS_OF_CELL.get(cell[:2]) or SEEDS_OF_ROBOT.get(cell[0]) or SEEDS_AGAIN.get(cell[1], SEEDS)
                seed = arguments.seed if trial else seeds[cell[2]]
                pending[pool.submit(measured, *cell, episodes, seed)] = cell
            if not pending:
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                name = "/".join(pending.pop(future))
                known[name] = future.result()
                if not trial:
                    RESULTS.write_text(json.dumps({"cells": dict(sorted(known.items()))}, indent=1) + "\n")
                if not arguments.json:
                    print(name, known[name], flush=True)
    if arguments.json:
        print(json.dumps(known))


if __name__ == "__main__":
    main()

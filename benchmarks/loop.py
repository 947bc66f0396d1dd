"""Measure whether the loop closes the gap: success in the twin and in a rehearsal cell, by round, and three controls.

    python benchmarks/loop.py [--cell harsh] [--rounds 3] [--budget 150] [--into benchmarks/results/loop.json] [--json]

CELL is a name (`harsh`), a file, or a seed (`17` is `rehearsal:seed=17`). All strategies have the same budget of real
demonstrations, the same objects, the same policy and the same number of trials in the cell:

1. `diagnose`: simulate, deploy, diagnose, re-randomize, collect what is missing, fine-tune;
2. `real`: real demonstrations only;
3. `wide`: simulation with wide randomization (`randomization: realistic`) only;
4. `blind`: simulation and real demonstrations, without a diagnosis.

All strategies know which objects are in the cell, as an operator would see, and nothing else about it. Demonstrations
come from the scripted expert, through the same runtime and safety filter as the policy. Everything stays in DIR, so a
stopped run continues. About 1.5 hours per cell on 2 cores.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from cells import entry, twinloop

from twinloop.deploy.robots import robot_named
from twinloop.run.default import embedded_config
from twinloop.twin.objects import OBJECTS

STRATEGIES = ("diagnose", "real", "wide", "blind")
EXPERT = {"action_noise_rad": 0.01, "slips": 0.35}
"""Settings of the demonstrator in the twin: action noise, and slips after which it grasps again."""
POLICY = ("--inputs", "observation.estimate", "--set", "width=320", "--set", "executed=5")
SEEN_SCENES = 24
SCENES = 10_000  # scene numbers reserved for the trials of each round


def objects_in(robot: str) -> list[str]:
    """Objects in the cell, from the noted conditions of some scenes, the most frequent first."""
    live = robot_named(robot)
    try:
        live.connect()
        noted = [live.begin(scene).conditions.get("object", "") for scene in range(SEEN_SCENES)]
    finally:
        live.close()
    kinds = sorted(set(noted) & set(OBJECTS), key=lambda name: (-noted.count(name), name))
    return kinds or ["cube"]


def config_text(strategy: str) -> str:
    """The initial config of every strategy; for `wide`, everything that fits the scene varies."""
    usual = embedded_config().resolved()
    ranges = "realistic" if strategy == "wide" else usual["randomization"]
    # JSON is YAML.
    return json.dumps({"scene": usual["scene"], "expert": EXPERT, "randomization": ranges}, indent=1)


def looped(strategy: str, robot: str, objects: list[str], args: argparse.Namespace) -> dict[str, Any]:
    folder = args.out / robot.replace(":", "-").replace("=", "-").replace("/", "-")
    config = folder / f"{strategy}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(config_text(strategy))
    # Without real data or a diagnosis rounds are the same, so one round trains for as many steps in total.
    rounds, steps = args.rounds, args.steps
    if strategy == "wide":
        rounds, steps = 0, steps + rounds * args.finetune_steps
    done = twinloop(
        "loop", config, "--robot", robot, "--strategy", strategy, "--rounds", rounds, "--budget", args.budget,
        "--trials", args.trials, "--episodes", args.episodes, "--steps", steps, "--finetune-steps", args.finetune_steps,
        "--evaluation-episodes", args.evaluation_episodes, "--cells", args.cells, "--cell-episodes", args.cell_episodes,
        "--objects", ",".join(objects), *POLICY, "--demonstrator", "script", "--ungated",
        "--workers", args.workers, "--out", folder / strategy,
    )  # fmt: skip
    return done | {"again": again(folder / strategy, robot, done, args) if done["reached"] else None}


def again(folder: Path, robot: str, done: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Test the policy in new scenes: a loop ends with the first round that reaches the target, which may be chance."""
    last = done["rounds"][-1]["number"]
    deployed = twinloop(
        "deploy", folder / f"round-{last}" / "policy", "--robot", robot, "--episodes", args.trials,
        "--first", SCENES * (last + 1), "--workers", args.workers, "--out", folder / "again",
    )  # fmt: skip
    return entry(deployed["policies"][0])


def kept(file: Path, robot: str, results: dict[str, Any]) -> None:
    """Add this cell's rows to those of other cells and earlier strategies."""
    cells = json.loads(file.read_text())["cells"] if file.exists() else {}
    before = cells.get(robot, {})
    cells[robot] = before | results | {"rows": before.get("rows", {}) | results["rows"]}
    file.write_text(json.dumps({"cells": cells}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", default="harsh")
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=int, default=150)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=1200)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--finetune-steps", type=int, default=1000)
    parser.add_argument(
        "--evaluation-episodes", type=int, default=24, help="episodes in the twin, of each kind of object"
    )
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--cell-episodes", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/loop"))
    parser.add_argument("--into", type=Path, help="add the results to this file")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    robot = f"rehearsal:seed={args.cell}" if args.cell.isdecimal() else f"rehearsal:{args.cell}"
    objects = objects_in(robot)
    sizes = {name: getattr(args, name) for name in ("budget", "trials", "episodes", "steps", "tuning")}
    results: dict[str, Any] = {"cell": robot, "objects": objects, "rows": {}}
    for strategy in args.strategies:
        done = looped(strategy, robot, objects, args)
        rows = [row(loop_round) for loop_round in done["rounds"]]
        results["rows"][strategy] = {"reached": done["reached"], **sizes, "rounds": rows, "again": done["again"]}
        for result in rows:
            twin, there = result["twin"], result["robot"]
            print(
                f"{strategy:9} round {result['number']}: {result['demonstrations']:3} real demonstrations, twin "
                f"{twin['successes']}/{twin['trials']}, cell {there['successes']}/{there['trials']} "
                f"[{there['low']:.2f}, {there['high']:.2f}]  {', '.join(result['open_gaps'])}",
                flush=True,
            )
        if args.into:
            kept(args.into, robot, results)
    if args.json:
        print(json.dumps(results))


def row(done: dict[str, Any]) -> dict[str, Any]:
    """The part of a round that the table shows."""
    return {
        name: done[name] for name in ("number", "demonstrations", "steps", "twin", "robot", "open_gaps", "requests")
    }


if __name__ == "__main__":
    main()

"""Does the loop close the gap? Success in the twin and on a rehearsal cell, round by round, against three controls.

    python benchmarks/loop.py [--cell harsh] [--rounds 3] [--budget 150] [--into benchmarks/results/loop.json] [--json]

CELL is a name (`harsh`), a file, or a seed (`17` is `rehearsal:seed=17`). With the same budget of real demonstrations,
the same kinds of objects, the same policy and as many trials on the cell:

1. `diagnose`: simulate, act, diagnose, re-randomize, collect what is missing, fine-tune;
2. `real`: real demonstrations alone;
3. `wide`: simulation with wide randomization (`randomization: realistic`) alone;
4. `blind`: simulation and real demonstrations, without a diagnosis.

Everybody is told which kinds of objects lie in the cell, as whoever stands before it sees; nobody is told anything
else of it. Demonstrations are the scripted expert's, through the same runtime and safety filter as a policy's actions.
Everything stays in DIR, so a run that was stopped goes on. About an hour and a half a cell on 2 cores.
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
"""Of the demonstrator in the twin: off the beaten track now and then, and letting go of a thing to take it up again."""
POLICY = ("--inputs", "observation.estimate", "--set", "width=320", "--set", "executed=5")
SEEN_SCENES = 24
SCENES = 10_000  # so many are kept for the trials of each round


def objects_in(robot: str) -> list[str]:
    """Kinds that lie there, as the lab's notes of some scenes name them; the most usual one first."""
    live = robot_named(robot)
    try:
        live.connect()
        noted = [live.begin(scene).conditions.get("object", "") for scene in range(SEEN_SCENES)]
    finally:
        live.close()
    kinds = sorted(set(noted) & set(OBJECTS), key=lambda name: (-noted.count(name), name))
    return kinds or ["cube"]


def config_text(strategy: str) -> str:
    """The config that everybody begins with; with all that fits the scene varied for `wide`."""
    usual = embedded_config().resolved()
    ranges = "realistic" if strategy == "wide" else usual["randomization"]
    # JSON is YAML.
    return json.dumps({"scene": usual["scene"], "expert": EXPERT, "randomization": ranges}, indent=1)


def looped(strategy: str, robot: str, objects: list[str], args: argparse.Namespace) -> dict[str, Any]:
    folder = args.out / robot.replace(":", "-").replace("=", "-").replace("/", "-")
    config = folder / f"{strategy}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(config_text(strategy))
    # Without real data or a diagnosis nothing changes from round to round: it is trained at once for as long.
    rounds, steps = args.rounds, args.steps
    if strategy == "wide":
        rounds, steps = 0, steps + rounds * args.tuning
    done = twinloop(
        "loop", config, "--robot", robot, "--strategy", strategy, "--rounds", rounds, "--budget", args.budget,
        "--trials", args.trials, "--episodes", args.episodes, "--steps", steps, "--tuning", args.tuning,
        "--judged", args.judged, "--worlds", args.worlds, "--imagined", args.imagined,
        "--objects", ",".join(objects), *POLICY, "--demonstrator", "script", "--ungated",
        "--workers", args.workers, "--out", folder / strategy,
    )  # fmt: skip
    return done | {"again": again(folder / strategy, robot, done, args) if done["reached"] else None}


def again(folder: Path, robot: str, done: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """A loop ends with the first round that is good enough, which may be luck: its policy acts in fresh scenes too."""
    last = done["rounds"][-1]["number"]
    told = twinloop(
        "deploy", folder / f"round-{last}" / "policy", "--robot", robot, "--episodes", args.trials,
        "--first", SCENES * (last + 1), "--workers", args.workers, "--out", folder / "again",
    )  # fmt: skip
    return entry(told["policies"][0])


def kept(file: Path, robot: str, found: dict[str, Any]) -> None:
    """This cell's rows, beside those of other cells and of strategies that were run before."""
    cells = json.loads(file.read_text())["cells"] if file.exists() else {}
    before = cells.get(robot, {})
    cells[robot] = before | found | {"rows": before.get("rows", {}) | found["rows"]}
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
    parser.add_argument("--tuning", type=int, default=1000)
    parser.add_argument("--judged", type=int, default=24, help="episodes in the twin, of each kind of object")
    parser.add_argument("--worlds", type=int, default=12)
    parser.add_argument("--imagined", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/loop"))
    parser.add_argument("--into", type=Path, help="add what was found to this file of results")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    robot = f"rehearsal:seed={args.cell}" if args.cell.isdecimal() else f"rehearsal:{args.cell}"
    objects = objects_in(robot)
    sizes = {name: getattr(args, name) for name in ("budget", "trials", "episodes", "steps", "tuning")}
    found: dict[str, Any] = {"cell": robot, "objects": objects, "rows": {}}
    for strategy in args.strategies:
        done = looped(strategy, robot, objects, args)
        rows = [row(each) for each in done["rounds"]]
        found["rows"][strategy] = {"reached": done["reached"], **sizes, "rounds": rows, "again": done["again"]}
        for each in rows:
            twin, there = each["twin"], each["robot"]
            print(
                f"{strategy:9} round {each['number']}: {each['demonstrations']:3} real demonstrations, twin "
                f"{twin['successes']}/{twin['trials']}, cell {there['successes']}/{there['trials']} "
                f"[{there['low']:.2f}, {there['high']:.2f}]  {', '.join(each['found'])}",
                flush=True,
            )
        if args.into:
            kept(args.into, robot, found)
    if args.json:
        print(json.dumps(found))


def row(done: dict[str, Any]) -> dict[str, Any]:
    """What a table needs of a round."""
    return {name: done[name] for name in ("number", "demonstrations", "steps", "twin", "robot", "found", "errands")}


if __name__ == "__main__":
    main()

"""Does the loop close the gap? Success in the twin and on a rehearsal cell, round by round, against three controls.

    python benchmarks/loop.py [--cell harsh] [--rounds 3] [--budget 200] [--json]

CELL is a name (`harsh`), a file, or a seed (`17` is `rehearsal:seed=17`). With the same budget of real demonstrations
and of trials on the cell:

1. `diagnose`: simulate, act, diagnose, re-randomize and collect what is missing;
2. `real`: real demonstrations alone;
3. `wide`: simulation with wide randomization (`randomization: realistic`) alone;
4. `blind`: simulation and real demonstrations, without a diagnosis.

Everything stays in DIR, so a run that was stopped goes on. About an hour and a half a cell on 2 cores.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from cells import twinloop

from twinloop.pipeline.embedded import embedded_config

STRATEGIES = ("diagnose", "real", "wide", "blind")
WIDE = "scene: {}\nrandomization: realistic\nexpert:\n  action_noise_rad: 0.005\n"


def looped(strategy: str, robot: str, args: argparse.Namespace) -> dict[str, Any]:
    folder = args.out / robot.replace(":", "-").replace("=", "-").replace("/", "-")
    config = folder / ("wide.yaml" if strategy == "wide" else "usual.yaml")
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(WIDE if strategy == "wide" else embedded_config().to_yaml())
    # Without real data or a diagnosis nothing changes from round to round.
    rounds = 1 if strategy == "wide" else args.rounds
    return twinloop(
        "loop", config, "--robot", robot, "--strategy", strategy, "--rounds", rounds, "--budget", args.budget,
        "--trials", args.trials, "--episodes", args.episodes, "--steps", args.steps, "--ungated",
        "--workers", args.workers, *(("--inputs", args.inputs) if args.inputs else ()), "--out", folder / strategy,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", default="harsh")
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--inputs", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/loop"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    robot = f"rehearsal:seed={args.cell}" if args.cell.isdecimal() else f"rehearsal:{args.cell}"
    found: dict[str, Any] = {}
    for strategy in args.strategies:
        done = looped(strategy, robot, args)
        found[strategy] = {"reached": done["reached"], "rounds": done["rounds"]}
        for each in done["rounds"]:
            twin, there = each["twin"], each["robot"]
            print(
                f"{strategy:9} round {each['number']}: {each['demonstrations']:3} real demonstrations, twin "
                f"{twin['successes']}/{twin['trials']}, cell {there['successes']}/{there['trials']} "
                f"[{there['low']:.2f}, {there['high']:.2f}]  {', '.join(each['found'])}",
                flush=True,
            )
    if args.json:
        print(json.dumps({"cell": robot, "budget": args.budget, "rows": found}))


if __name__ == "__main__":
    main()

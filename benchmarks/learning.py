"""Measure the success of policies against the number of demonstrations, action noise and randomization.

    python benchmarks/learning.py [--json] [--quick] [--out DIR]
    python benchmarks/learning.py --task peg_insertion,sort_by_colour [--json] [--quick] [--out DIR]

Every policy is trained and evaluated with the public commands, on a run seed that no demonstration used.

1. Headline: `mlp` from 5,000 demonstrations of the embedded config, 1,000 episodes over its whole randomization.
2. Curves: 10 to 5,000 demonstrations, with and without noise on the demonstrator's commands, from twins in which
   everything in the config varies, only the object's position, or nothing. All are evaluated with everything varied.
3. Speed: episodes per second of evaluation and of generation, one after the other in this run.

About 20 minutes on 2 cores. Datasets and policies stay in DIR, so a stopped run continues.

With `--task`, policies of other tasks are measured on one core: `learning_arms.py` says which and writes the results.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from learning_arms import measure

from twinloop.run.default import embedded_config

SIZES = (10, 50, 100, 200, 500, 1000, 5000)
STEPS = 400
SEEN_SEED, UNSEEN_SEED = 1, 77
PLACE = "    object_position_noise_cm: [-2, 2]\n"
VARIES = {
    "everything": f"    object_mass_kg: [0.05, 0.4]\n    friction_coefficient: [0.2, 1.1]\n{PLACE}",
    "the object's place": PLACE,
    "nothing": "",
}


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def config(folder: Path, varies: str, noise: bool) -> Path:
    rows = VARIES[varies]
    randomization = f"randomization:\n  physics:\n{rows}" if rows else ""
    path = folder / f"{varies.split()[-1]}-{'noisy' if noise else 'clean'}.yaml"
    path.write_text(f"scene: {{}}\n{randomization}expert:\n  action_noise_rad: {0.005 if noise else 0.0}\n")
    return path


def cell(
    out: Path, data: Path, episodes: int, steps: int, judged_on: Path, trials: int, *, threads: int
) -> dict[str, Any]:
    name = f"{data.name}-{episodes}"
    kept = out / "cells" / f"{name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    began = time.perf_counter()
    trained = twinloop(
        "train", data, "--episodes", episodes, "--steps", steps, "--threads", threads,
        "--out", out / "policies" / name,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    judged = twinloop(
        "evaluate", trained["path"], judged_on, "--episodes", trials, "--seed", UNSEEN_SEED, "--clips", 0,
        "--workers", threads, "--out", out / "evaluations" / name,
    )  # fmt: skip
    success = judged["success"]
    interval = f"{success['rate']:6.1%} [{success['low']:.1%}, {success['high']:.1%}]"
    print(f"{name:24} {interval} in {seconds:.0f} s", flush=True)
    result = {
        "demonstrations": episodes, "success": success["rate"], "low": round(success["low"], 4),
        "high": round(success["high"], 4), "trials": trials, "train_s": round(seconds, 1),
        "episodes_per_s": judged["episodes_per_second"],
    }  # fmt: skip
    kept.write_text(json.dumps(result))
    return result


def speeds(policy: Path, file: Path, episodes: int) -> dict[str, float]:
    """Generation and evaluation of the same number of episodes, one after the other."""
    with TemporaryDirectory() as folder:
        made = twinloop("generate", file, "--episodes", episodes, "--seed", UNSEEN_SEED, "--out", Path(folder) / "made")
        judged = twinloop(
            "evaluate", policy, file, "--episodes", episodes, "--seed", UNSEEN_SEED, "--clips", 0,
            "--out", Path(folder) / "judged",
        )  # fmt: skip
    generated, evaluated = made["trajectories_per_second"], judged["episodes_per_second"]
    return {
        "generation_episodes_per_s": generated,
        "evaluation_episodes_per_s": evaluated,
        "evaluation_share_of_generation": round(evaluated / generated, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to test the script")
    parser.add_argument("--out", type=Path, default=Path("out/learning"))
    parser.add_argument("--task", help="measure policies of these tasks instead: names with commas")
    args = parser.parse_args()
    if args.task:
        results = measure(args.task.split(","), args.out, quick=args.quick)
        if args.json:
            print(json.dumps(results))
        return
    sizes = tuple(max(size // 10, 2) for size in SIZES) if args.quick else SIZES
    steps, trials, many = (50, 50, 100) if args.quick else (STEPS, 256, 1000)
    out = args.out
    for name in ("configs", "cells"):
        (out / name).mkdir(parents=True, exist_ok=True)
    everything = out / "configs" / "embedded.yaml"
    everything.write_text(embedded_config().to_yaml())

    results: dict[str, Any] = {"cores": os.cpu_count(), "steps": steps, "trials": trials}
    tasks: dict[tuple[str, int], Any] = {}
    # Small networks gain little from a second thread, so each core trains one policy.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for varies in VARIES:
            for noise in (True, False):
                file = config(out / "configs", varies, noise)
                made = twinloop(
                    "generate", file, "--episodes", sizes[-1], "--seed", SEEN_SEED,
                    "--out", out / "datasets" / file.stem,
                )  # fmt: skip
                title = f"{varies}, {'with' if noise else 'without'} noise"
                for size in sizes:
                    given = (out, Path(made["path"]), size, steps, everything, trials)
                    tasks[title, size] = pool.submit(cell, *given, threads=1)
    curves = {title: [tasks[title, size].result() for size in sizes] for title, _ in tasks}
    made = twinloop(
        "generate", everything, "--episodes", sizes[-1], "--seed", SEEN_SEED, "--out", out / "datasets" / "embedded"
    )
    cores = os.cpu_count() or 1
    headline = cell(out, Path(made["path"]), sizes[-1], 2 * steps, everything, many, threads=cores)
    results |= {f"headline_{key}": value for key, value in headline.items()}
    results |= speeds(out / "policies" / f"embedded-{sizes[-1]}", everything, many)
    results["curves"] = curves
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()

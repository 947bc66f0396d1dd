"""Measure how far reinforcement improves a cloned policy on a contact-rich task: peg insertion with 1 mm clearance.

A policy is cloned from a few demonstrations, then improved by `twinloop reinforce --from` for a number of minutes. Both
are evaluated on the same held-out episodes. Run it again to continue. The goal is at least 90 % from at most 70 % in
120 minutes on two cores.

    python benchmarks/tuning.py --out studies/tuning [--demonstrations 30] [--minutes 120] [--episodes 200] [--json]
"""

import argparse
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import twinloop as tl

DATA_SEED, FIGURE_SEED = 11, 2000
CELL = """
scene: {robot: franka_panda, task: peg_insertion}
randomization:
  physics:
    object_position_noise_cm: [-2, 2]
    object_yaw_deg: [-45, 45]
    object_mass_kg: [0.05, 0.3]
    friction_coefficient: [0.4, 1.0]
    target_position_noise_cm: [-3, 3]
  environment: {fixture_position_noise_cm: [-1.5, 1.5], fixture_yaw_deg: [-5, 5], hole_clearance_mm: 1}
environment:
  rewards: {phases_gain: 4, succeeded: 1, over_hole: 0.05, fell: -2}
  time_limit_s: 7
"""


class OutOfTime(Exception):
    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--demonstrations", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--episodes", type=int, default=200, help="of each evaluation")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cell = args.out / "cell.yaml"
    cell.write_text(CELL, encoding="utf-8")
    config = tl.load_config(cell)
    data = tl.generate(config.with_seed(DATA_SEED), args.out / "data", episodes=args.demonstrations)
    cloned = tl.train(data, args.out / "cloned", steps=1200)
    began, cpu = time.monotonic(), time.process_time()
    tuned = args.out / "tuned"

    def watch(_: object) -> None:
        if time.monotonic() - began > 60 * args.minutes:
            raise OutOfTime

    with suppress(OutOfTime):  # the last saved checkpoint is judged
        tl.reinforce(
            cell, tuned, parent=cloned, iterations=1_000_000, threads=args.threads, on_iteration=watch,
            settings={"save_every": 4},
        )  # fmt: skip
    spent_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
    result = {
        "minutes": round(spent_s / 60, 1), "cpu_minutes": round(cpu_s / 60, 1), "cores": os.cpu_count(),
        "demonstrations": args.demonstrations, "episodes": args.episodes, "seed": FIGURE_SEED,
        "periods": tl.Checkpoint.load(tuned).card.data[0]["frames"],
    }  # fmt: skip
    for name, path in (("cloned", args.out / "cloned"), ("tuned", tuned)):
        success = tl.evaluate(path, config, seed=FIGURE_SEED, episodes=args.episodes).success
        result[name] = {"successes": success.successes, "trials": success.trials}
    print(json.dumps(result) if args.json else "\n".join(f"{key:16} {value}" for key, value in result.items()))


if __name__ == "__main__":
    main()

"""Measure how far reinforcement improves a cloned policy on a contact-rich task: peg insertion with 1 mm clearance.

A policy is cloned from a few demonstrations, then improved by `twinloop reinforce --from`. Both are evaluated on the
same held-out episodes. Run it again to continue. The goal: 90 % or more from 70 % or less, in 120 minutes on two cores.

    python benchmarks/tuning.py --out studies/tuning [--demonstrations 30] [--iterations 70] [--episodes 200]
    python benchmarks/tuning.py --out studies/tuning --seed 500 --episodes 96      # while working on it
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch

import twinloop as tl
from twinloop.learn.reinforce.record import IterationRecord

DATA_SEED, TRAINING_SEED, FIGURE_SEED = 11, 3, 2000
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--demonstrations", type=int, default=30)
    parser.add_argument("--iterations", type=int, default=70, help="of the reinforcement")
    parser.add_argument("--episodes", type=int, default=200, help="of each evaluation")
    parser.add_argument("--seed", type=int, default=FIGURE_SEED, help="of the evaluations")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    cell = args.out / "cell.yaml"
    cell.write_text(CELL, encoding="utf-8")
    config = tl.load_config(cell)
    data = tl.generate(config.with_seed(DATA_SEED), args.out / "data", episodes=args.demonstrations)
    cloned = tl.train(data, args.out / "cloned", steps=1200)
    tuned, spent = args.out / "tuned", args.out / "cpu_s.json"
    before_s, begin = json.loads(spent.read_text()) if spent.exists() else 0.0, time.process_time()

    def watch(record: IterationRecord) -> None:
        if record.iteration % 10 == 0:  # those that are saved
            spent.write_text(json.dumps(before_s + time.process_time() - begin))
            print(f"iteration {record.iteration}: reward {record.reward:+.4f}, success {record.success}", flush=True)

    tl.reinforce(
        cell, tuned, parent=cloned, iterations=args.iterations, seed=TRAINING_SEED, threads=args.threads,
        on_iteration=watch,
    )  # fmt: skip
    result = {
        "iterations": args.iterations, "cpu_minutes": round(json.loads(spent.read_text()) / 60, 1),
        "cores": os.cpu_count(), "demonstrations": args.demonstrations, "seed": args.seed,
        "periods": tl.Checkpoint.load(tuned).card.data[0]["frames"],
    }  # fmt: skip
    for name, path in (("cloned", args.out / "cloned"), ("tuned", tuned)):
        rate = tl.evaluate(path, config, seed=args.seed, episodes=args.episodes).success
        low, high = rate.interval
        result[name] = {"successes": rate.successes, "trials": rate.trials, "low": low, "high": high}
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

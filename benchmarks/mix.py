"""Measure success against the share of simulated data where the real cell differs from the twin.

    python benchmarks/mix.py [--set figure] [--into benchmarks/results/mix.json] [--json]

The real cell is the twin with a tracker whose frame is 15 mm off and a delay of 40 ms. The
scripted expert records 12 demonstrations there, through the runtime of `collect`. Simulated data are 200 episodes of
the twin without these errors. `mix_curve` trains proxies at five shares, with two folds, and rolls each out in the
real cell on 40 held-out scenes. `--set work` has other seeds, for development.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from twinloop.curate.rates import Rate
from twinloop.deploy.collect import CollectConfig, collect
from twinloop.gate.evaluate import evaluate
from twinloop.learn.candidate import Candidate
from twinloop.learn.mix_curve import MixConfig, mix_curve
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text, load_config

SEEDS = {"work": (701, 702, 703), "figure": (801, 802, 803)}
SIM = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_position_noise_cm: [-6, 6], object_yaw_deg: [-45, 45]}
"""
REAL = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_position_noise_cm: [-6, 6], object_yaw_deg: [-45, 45]}
  sensing: {tracker_bias_mm: 15}
  latency: {action_delay_ms: 40}
"""
DEMONSTRATIONS, SIMULATED, TRIALS = 12, 200, 40
SHARES = (0.0, 0.5, 0.75, 0.9, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="figure", choices=list(SEEDS))
    parser.add_argument("--out", type=Path, default=Path("out/mix"))
    parser.add_argument("--into", type=Path, help="write the results to this file")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    seed, recorded, trials = SEEDS[args.set]
    out = args.out / args.set
    out.mkdir(parents=True, exist_ok=True)
    generate(config_from_text(SIM, name="sim", folder=Path()).with_seed(seed), out / "sim", episodes=SIMULATED)
    cell = out / "real.yaml"
    cell.write_text(f"{REAL}rollout: {{seed: {recorded}}}\n")
    collect(f"twin:{cell}", out / "runlog", episodes=DEMONSTRATIONS, config=CollectConfig(imperfection=None))
    target = load_config(cell).with_seed(trials)

    def success_at(candidate: Candidate) -> Rate:
        rate = evaluate(candidate, target, config_name="real", episodes=TRIALS, workers=2).success
        print(f"{candidate.name}: {rate.successes}/{rate.trials}", flush=True)
        return rate

    config = MixConfig(shares=SHARES, folds=2)
    curve = mix_curve([out / "sim"], [out / "runlog"], out / "mix", config=config, success_at=success_at)
    results: dict[str, Any] = {"set": args.set, "trials": TRIALS, "steps": config.train.steps, **curve.to_json()}
    if args.into:
        args.into.write_text(json.dumps(results, indent=1) + "\n")
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
